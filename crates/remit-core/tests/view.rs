//! What a load shows, in every world of two tasks with up to three recorded answers, for every call, against an oracle
//! written from DESIGN 5 in other terms: which answers, to which questions, LangGraph would find.
mod common;

use common::{orders, BOTH};
use remit_core::view::{
    answers, asked, failed, is_reached, view, waits, Class, Intent, Question, Show, Slot, Write,
};

const INTENTS: [Intent; 6] = [
    Intent::Inspect,
    Intent::Fork,
    Intent::Retry,
    Intent::Answer,
    Intent::NewInput,
    Intent::Unknown,
];

/// A task's rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Task {
    /// The question that it asks, if it asks one and which is known.
    asks: Option<Option<usize>>,
    /// How many answers it has recorded: to questions 0, 1, ...
    answers: usize,
    failed: bool,
}

#[derive(Clone, Debug)]
struct World {
    tasks: Vec<Task>,
    /// A bare answer waits in the null task's row, for this task's question if that is known.
    bare: Option<Option<Question>>,
}

fn tasks() -> Vec<Task> {
    let mut all = Vec::new();
    for asks in [
        None,
        Some(None),
        Some(Some(0)),
        Some(Some(1)),
        Some(Some(2)),
        Some(Some(3)),
    ] {
        for answers in 0..=3 {
            for failed in BOTH {
                all.push(Task {
                    asks,
                    answers,
                    failed,
                });
            }
        }
    }
    all
}

fn bares(tasks: u32) -> Vec<Option<Option<Question>>> {
    let mut all = vec![None, Some(None)];
    for task in 0..tasks {
        for nth in 0..=3 {
            all.push(Some(Some(Question { task, nth })));
        }
    }
    all
}

fn writes(world: &World) -> Vec<Write> {
    let mut all = Vec::new();
    for (t, task) in (0..).zip(&world.tasks) {
        let slot = Slot::Task(t);
        let row = |class, answers, about| Write {
            slot,
            class,
            answers,
            about,
        };
        if let Some(nth) = task.asks {
            let about = nth.map(|nth| Question { task: t, nth });
            all.push(row(Class::Interrupt, 0, about));
        }
        if task.failed {
            all.push(row(Class::Error, 0, None));
        }
        if task.answers > 0 {
            all.push(row(Class::Resume, task.answers, None));
        }
        all.push(row(Class::Ordinary, 0, None));
    }
    if let Some(about) = world.bare {
        all.push(Write {
            slot: Slot::Null,
            class: Class::Resume,
            answers: 1,
            about,
        });
    }
    all
}

/// The question whose answer may be given anew: the one that is open. Where it is not known, a failed task's last one.
fn open(task: Task) -> Option<usize> {
    match task.asks.flatten() {
        Some(nth) => Some(nth),
        None if task.failed && task.answers > 0 => Some(task.answers - 1),
        None => None,
    }
}

/// How many of a task's answers are shown, from the first on.
fn shown(world: &World, t: u32, intent: Intent, answered: &[u32]) -> usize {
    let task = world.tasks[t as usize];
    let Some(last) = task.answers.checked_sub(1) else {
        return 0;
    };
    // a later bare answer to the same question supersedes it
    let superseded = world.bare == Some(Some(Question { task: t, nth: last }));
    let hides_last = match intent {
        Intent::Inspect => false,
        Intent::Fork | Intent::NewInput => return 0,
        Intent::Retry => superseded,
        Intent::Answer => superseded || (answered.contains(&t) && open(task) == Some(last)),
        Intent::Unknown => superseded || open(task) == Some(last),
    };
    if hides_last {
        last
    } else {
        task.answers
    }
}

/// Is the waiting bare answer shown?
fn shows_bare(world: &World, about: Option<Question>, intent: Intent, alone: bool) -> bool {
    match intent {
        Intent::Inspect => true,
        Intent::Retry => about.is_some_and(|q| {
            let task = world.tasks.get(q.task as usize);
            let is_open = task.is_some_and(|t| t.asks == Some(Some(q.nth)));
            let in_reach = task.is_some_and(|t| t.answers >= q.nth);
            alone && is_open && in_reach
        }),
        _ => false,
    }
}

fn check(world: &World, intent: Intent, answered: &[u32], alone: bool) {
    let writes = writes(world);
    let verdicts = view(&writes, intent, answered, alone);
    assert_eq!(verdicts.len(), writes.len());
    for (write, verdict) in writes.iter().zip(&verdicts) {
        let context = || format!("{intent:?} {answered:?} alone={alone} {world:?}: {write:?}");
        if write.class != Class::Resume {
            assert_eq!(
                *verdict,
                Show::Keep,
                "only answers are hidden: {}",
                context()
            );
            continue;
        }
        let expected = match write.slot {
            Slot::Task(t) => shown(world, t, intent, answered),
            Slot::Null => usize::from(shows_bare(world, write.about, intent, alone)),
        };
        let got = match verdict {
            Show::Keep => write.answers,
            Show::Hide => 0,
            Show::AllButLast => write.answers - 1,
        };
        assert_eq!(got, expected, "{}", context());
        // an empty list is not shown as one: it would count as an answer
        assert!(*verdict != Show::AllButLast || write.answers > 1);
    }
}

/// One row, of each kind: it is the fact that its slot and class say, and no other.
#[test]
fn a_row_says_what_its_slot_and_class_say() {
    let about = Some(Question { task: 0, nth: 2 });
    for slot in [Slot::Null, Slot::Task(0), Slot::Task(1)] {
        for class in [
            Class::Resume,
            Class::Interrupt,
            Class::Error,
            Class::Ordinary,
        ] {
            let row = Write {
                slot,
                class,
                answers: 3,
                about,
            };
            let is = |s, c| (slot, class) == (s, c);
            let own = Slot::Task(0);
            assert_eq!(
                waits(&[row], 0),
                is(Slot::Null, Class::Resume).then_some(2),
                "{row:?}"
            );
            assert_eq!(
                asked(&[row], 0),
                is(own, Class::Interrupt).then_some(2),
                "{row:?}"
            );
            assert_eq!(failed(&[row], 0), is(own, Class::Error), "{row:?}");
            let recorded = if is(own, Class::Resume) { 3 } else { 0 };
            assert_eq!(answers(&[row], 0), recorded, "{row:?}");
            assert_eq!(waits(&[row], 1), None);
        }
    }
}

#[test]
fn each_load_shows_what_the_rule_says() {
    let two: Vec<(Task, Task)> = tasks()
        .into_iter()
        .flat_map(|a| tasks().into_iter().map(move |b| (a, b)))
        .collect();
    for (a, b) in two {
        for bare in bares(2) {
            let world = World {
                tasks: vec![a, b],
                bare,
            };
            for intent in INTENTS {
                for answered in [&[][..], &[0], &[1], &[0, 1]] {
                    for alone in BOTH {
                        check(&world, intent, answered, alone);
                    }
                }
            }
        }
    }
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    for task in tasks() {
        for bare in bares(1) {
            let rows = writes(&World {
                tasks: vec![task],
                bare,
            });
            let places: Vec<usize> = (0..rows.len()).collect();
            for intent in INTENTS {
                let expected = view(&rows, intent, &[0], true);
                for order in orders(&places) {
                    let moved: Vec<Write> = order.iter().map(|i| rows[*i]).collect();
                    let got = view(&moved, intent, &[0], true);
                    assert!(order
                        .iter()
                        .zip(&got)
                        .all(|(i, show)| expected[*i] == *show));
                }
            }
        }
    }
}

#[test]
fn an_answer_is_never_shown_to_another_question_and_the_open_one_can_be_reached() {
    for task in tasks() {
        let Some(Some(nth)) = task.asks else { continue };
        // the lists that occur: the earlier questions' answers, and perhaps the open one's
        if !(nth..=nth + 1).contains(&task.answers) {
            continue;
        }
        let world = World {
            tasks: vec![task],
            bare: None,
        };
        // a new answer lands on the open question: it is appended to what is shown
        assert_eq!(shown(&world, 0, Intent::Answer, &[0]), nth);
        assert_eq!(shown(&world, 0, Intent::Unknown, &[]), nth);
        // a retry goes on with what was given
        assert_eq!(shown(&world, 0, Intent::Retry, &[]), task.answers);
        for answers in 0..5 {
            assert_eq!(is_reached(Some(nth), answers), answers >= nth);
            assert!(!is_reached(None, answers));
        }
        check(&world, Intent::Answer, &[0], true);
        check(&world, Intent::Retry, &[], true);
    }
}
