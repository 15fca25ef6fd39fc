//! `remit_core::view`.
use pyo3::prelude::*;
use remit_core::view as core;

/// What a call wants.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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

impl From<Intent> for core::Intent {
    fn from(intent: Intent) -> Self {
        match intent {
            Intent::Inspect => core::Intent::Inspect,
            Intent::Fork => core::Intent::Fork,
            Intent::Retry => core::Intent::Retry,
            Intent::Answer => core::Intent::Answer,
            Intent::NewInput => core::Intent::NewInput,
            Intent::Unknown => core::Intent::Unknown,
        }
    }
}

/// Which channel a write is under.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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

/// The verdict on a write.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Show {
    /// As it is.
    Keep,
    /// Not at all.
    Hide,
    /// Without the last answer of its list.
    AllButLast,
}

type Fact = (Option<u32>, Class, usize, Option<(u32, usize)>);

/// What a load shows of the pending writes: a verdict for each. A write is (task number or None for the null
/// task, class, number of answers, question it is about as (task, n) or None); `answered`: the tasks whose open
/// question the call answers; `alone`: no other task can ask in this run.
#[pyfunction]
pub fn view(writes: Vec<Fact>, intent: Intent, answered: Vec<u32>, alone: bool) -> Vec<Show> {
    let writes: Vec<core::Write> = writes
        .into_iter()
        .map(|(slot, class, answers, about)| core::Write {
            slot: match slot {
                Some(task) => core::Slot::Task(task),
                None => core::Slot::Null,
            },
            class: match class {
                Class::Resume => core::Class::Resume,
                Class::Interrupt => core::Class::Interrupt,
                Class::Error => core::Class::Error,
                Class::Ordinary => core::Class::Ordinary,
            },
            answers,
            about: about.map(|(task, nth)| core::Question { task, nth }),
        })
        .collect();
    core::view(&writes, intent.into(), &answered, alone)
        .into_iter()
        .map(|show| match show {
            core::Show::Keep => Show::Keep,
            core::Show::Hide => Show::Hide,
            core::Show::AllButLast => Show::AllButLast,
        })
        .collect()
}
