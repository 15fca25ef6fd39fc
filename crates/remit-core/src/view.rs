//! What a read may show of the pending writes: one verdict per write.
use alloc::vec::Vec;

#[cfg(verus_only)]
use super::view_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// Whose row a write is in: the null task's (a bare answer), or a task's own.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The null task's.
    Null,
    /// A task's, by its number in this batch of facts.
    Task(u32),
}

/// Which channel a write is under.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Recorded answers.
    Resume,
    /// A question.
    Interrupt,
    /// A failure.
    Error,
    /// Anything else.
    Ordinary,
}

/// The `nth` question (from 0) that a task asks.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// The task.
    pub task: u32,
    /// From 0.
    pub nth: usize,
}

/// The facts of one pending write.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write {
    /// Whose row.
    pub slot: Slot,
    /// Which channel.
    pub class: Class,
    /// Resume: how many answers are recorded.
    pub answers: usize,
    /// Interrupt: the question it asks. The null task's Resume: the question it was given for, as long
    /// as that task has not recorded an answer to it since. `None`: consumed, or not known.
    pub about: Option<Question>,
}

/// What the call wants.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intent {
    /// To look.
    Inspect,
    /// A branch of its own.
    Fork,
    /// To go on with what was given.
    Retry,
    /// To answer open questions.
    Answer,
    /// To start over with an input.
    NewInput,
    /// Not known.
    Unknown,
}

/// The verdict on a write.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// As it is.
    Keep,
    /// Not at all.
    Hide,
    /// Without the last answer of its list.
    AllButLast,
}

/// Is the last recorded answer an answer to the question that is open now?
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == answers_open(asked, failed, answers),
))]
pub fn is_reanswered(asked: Option<usize>, failed: bool, answers: usize) -> bool {
    match asked {
        Some(nth) => answers >= 1 && answers - 1 == nth,
        None => failed && answers >= 1,
    }
}

/// Can an answer without a name reach the open question? Only if every earlier one has its answer recorded;
/// otherwise the task would take it for an earlier question.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == reaches(asked, answers),
))]
pub fn is_reached(asked: Option<usize>, answers: usize) -> bool {
    match asked {
        Some(nth) => answers >= nth,
        None => false,
    }
}

/// The verdict on a task's recorded answers. `waits`: the question for which a bare answer waits.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == rule_task(intent, named, waits, asked, failed, answers),
))]
pub fn show_task(
    intent: Intent,
    named: bool,
    waits: Option<usize>,
    asked: Option<usize>,
    failed: bool,
    answers: usize,
) -> Show {
    let replaced = match intent {
        Intent::Inspect => return Show::Keep,
        Intent::Fork => return Show::Hide,
        Intent::NewInput => return Show::Hide,
        Intent::Retry => false,
        Intent::Answer => named,
        Intent::Unknown => true,
    };
    let stale = waits.is_some() && is_reanswered(waits, false, answers);
    if stale || (replaced && is_reanswered(asked, failed, answers)) {
        if answers == 1 {
            Show::Hide
        } else {
            Show::AllButLast
        }
    } else {
        Show::Keep
    }
}

/// The verdict on the null task's recorded answer. `asked`, `answers`: of the task that it was given for.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == rule_null(intent, alone, about, asked, answers),
))]
pub fn show_null(
    intent: Intent,
    alone: bool,
    about: Option<Question>,
    asked: Option<usize>,
    answers: usize,
) -> Show {
    let open = match asked {
        Some(nth) => match about {
            Some(q) => q.nth == nth && answers >= nth,
            None => false,
        },
        None => false,
    };
    match intent {
        Intent::Inspect => Show::Keep,
        Intent::Retry => {
            if alone && open {
                Show::Keep
            } else {
                Show::Hide
            }
        }
        Intent::Fork => Show::Hide,
        Intent::Answer => Show::Hide,
        Intent::NewInput => Show::Hide,
        Intent::Unknown => Show::Hide,
    }
}

#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == in_slot(slot, task),
))]
fn is_task(slot: Slot, task: u32) -> bool {
    match slot {
        Slot::Null => false,
        Slot::Task(t) => t == task,
    }
}

/// The question that a task's interrupt asks.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == asked_in(writes@, task),
))]
pub fn asked(writes: &[Write], task: u32) -> Option<usize> {
    let mut found: Option<usize> = None;
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= writes@.len(),
            found == asked_in(writes@.take(i as int), task),
        decreases writes@.len() - i,
    ))]
    while i < writes.len() {
        let w = writes[i];
        #[cfg(verus_only)]
        proof! {
            assert(writes@.take(i + 1).drop_last() =~= writes@.take(i as int));
            assert(writes@.take(i + 1).last() == w);
        }
        if matches!(w.class, Class::Interrupt) && is_task(w.slot, task) {
            if let Some(q) = w.about {
                found = Some(q.nth);
            }
        }
        i += 1;
    }
    #[cfg(verus_only)]
    proof! {
        assert(writes@.take(i as int) =~= writes@);
    }
    found
}

/// Did the task fail?
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == failed_in(writes@, task),
))]
pub fn failed(writes: &[Write], task: u32) -> bool {
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= writes@.len(),
            forall|j: int| 0 <= j < i ==> !fails(#[trigger] writes@[j], task),
        decreases writes@.len() - i,
    ))]
    while i < writes.len() {
        if matches!(writes[i].class, Class::Error) && is_task(writes[i].slot, task) {
            return true;
        }
        i += 1;
    }
    false
}

/// The question of the task for which an unconsumed bare answer waits.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == waits_in(writes@, task),
))]
pub fn waits(writes: &[Write], task: u32) -> Option<usize> {
    let mut found: Option<usize> = None;
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= writes@.len(),
            found == waits_in(writes@.take(i as int), task),
        decreases writes@.len() - i,
    ))]
    while i < writes.len() {
        let w = writes[i];
        #[cfg(verus_only)]
        proof! {
            assert(writes@.take(i + 1).drop_last() =~= writes@.take(i as int));
            assert(writes@.take(i + 1).last() == w);
        }
        if matches!(w.class, Class::Resume) && matches!(w.slot, Slot::Null) {
            if let Some(q) = w.about {
                if q.task == task {
                    found = Some(q.nth);
                }
            }
        }
        i += 1;
    }
    #[cfg(verus_only)]
    proof! {
        assert(writes@.take(i as int) =~= writes@);
    }
    found
}

/// How many answers a task has recorded.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == answers_in(writes@, task),
))]
pub fn answers(writes: &[Write], task: u32) -> usize {
    let mut found: usize = 0;
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= writes@.len(),
            found == answers_in(writes@.take(i as int), task),
        decreases writes@.len() - i,
    ))]
    while i < writes.len() {
        let w = writes[i];
        #[cfg(verus_only)]
        proof! {
            assert(writes@.take(i + 1).drop_last() =~= writes@.take(i as int));
            assert(writes@.take(i + 1).last() == w);
        }
        if matches!(w.class, Class::Resume) && is_task(w.slot, task) {
            found = w.answers;
        }
        i += 1;
    }
    #[cfg(verus_only)]
    proof! {
        assert(writes@.take(i as int) =~= writes@);
    }
    found
}

#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == tasks@.contains(task),
))]
fn is_named(tasks: &[u32], task: u32) -> bool {
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= tasks@.len(),
            forall|j: int| 0 <= j < i ==> #[trigger] tasks@[j] != task,
        decreases tasks@.len() - i,
    ))]
    while i < tasks.len() {
        if tasks[i] == task {
            return true;
        }
        i += 1;
    }
    false
}

/// The view: a verdict for each write. `answered` are the tasks whose open question the call answers;
/// `alone` says that no task but the one a waiting bare answer is for can ask in this run.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret@ == view_spec(writes@, intent, answered@, alone),
))]
pub fn view(writes: &[Write], intent: Intent, answered: &[u32], alone: bool) -> Vec<Show> {
    let mut out: Vec<Show> = Vec::new();
    let mut i: usize = 0;
    #[cfg_attr(verus_only, verus_spec(
        invariant
            i <= writes@.len(),
            out@.len() == i,
            forall|j: int| 0 <= j < i ==> #[trigger] out@[j] == show_at(writes@, intent, answered@, alone, j),
        decreases writes@.len() - i,
    ))]
    while i < writes.len() {
        let w = writes[i];
        let show = match w.class {
            Class::Resume => match w.slot {
                Slot::Null => {
                    let (open, recorded) = match w.about {
                        Some(q) => (asked(writes, q.task), answers(writes, q.task)),
                        None => (None, 0),
                    };
                    show_null(intent, alone, w.about, open, recorded)
                }
                Slot::Task(t) => show_task(
                    intent,
                    is_named(answered, t),
                    waits(writes, t),
                    asked(writes, t),
                    failed(writes, t),
                    w.answers,
                ),
            },
            Class::Interrupt => Show::Keep,
            Class::Error => Show::Keep,
            Class::Ordinary => Show::Keep,
        };
        out.push(show);
        i += 1;
    }
    #[cfg(verus_only)]
    proof! {
        assert(out@ =~= view_spec(writes@, intent, answered@, alone));
    }
    out
}
