//! `remit_core::stray`.
use pyo3::prelude::*;
use remit_core::stray as core;

/// What is known of the thread that a resume addresses.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thread {
    /// It has no checkpoint.
    Absent,
    /// The addressed checkpoint does not exist.
    NoSuchCheckpoint,
    /// Nothing is left to run.
    Finished,
    /// A question is open.
    Parked,
    /// Something is left to run, and no question is open.
    Unfinished,
    /// It cannot be told.
    Unknown,
}

/// What the user wants done with strays.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Report and go on.
    Warn,
    /// Raise.
    Raise,
    /// Say nothing.
    Ignore,
}

/// The verdict on a resume.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It answers something.
    Accept,
    /// It is reported.
    Report,
    /// It is refused before anything runs.
    Refuse,
}

/// Judges a resume: (verdict, the refusal's code or None). `names`: the number of ids in the map, None for a bare
/// answer; `open`: how many of them are open; `takers`: how many questions may take a bare one; `refused`: LangGraph
/// refuses a bare one itself.
#[pyfunction]
pub fn judge(
    thread: Thread,
    names: Option<usize>,
    open: usize,
    takers: usize,
    refused: bool,
    named_only: bool,
    policy: Policy,
) -> (Verdict, Option<&'static str>) {
    let thread = match thread {
        Thread::Absent => core::Thread::Absent,
        Thread::NoSuchCheckpoint => core::Thread::NoSuchCheckpoint,
        Thread::Finished => core::Thread::Finished,
        Thread::Parked => core::Thread::Parked,
        Thread::Unfinished => core::Thread::Unfinished,
        Thread::Unknown => core::Thread::Unknown,
    };
    let answer = match names {
        Some(names) => core::Answer::Named { names, open },
        None => core::Answer::Bare { takers, refused },
    };
    let policy = match policy {
        Policy::Warn => core::Policy::Warn,
        Policy::Raise => core::Policy::Raise,
        Policy::Ignore => core::Policy::Ignore,
    };
    match core::judge(thread, answer, named_only, policy) {
        core::Verdict::Accept => (Verdict::Accept, None),
        core::Verdict::Report(r) => (Verdict::Report, Some(code(r))),
        core::Verdict::Refuse(r) => (Verdict::Refuse, Some(code(r))),
    }
}

fn code(reason: core::Reason) -> &'static str {
    match reason {
        core::Reason::NoThread => "stray-no-thread",
        core::Reason::NoSuchCheckpoint => "stray-no-checkpoint",
        core::Reason::NotWaiting => "stray-not-waiting",
        core::Reason::UnknownInterrupt => "stray-unknown-interrupt",
        core::Reason::SomeUnknown => "stray-some-unknown",
        core::Reason::EmptyMap => "stray-empty-map",
        core::Reason::Unnamed => "stray-unnamed",
        core::Reason::Ambiguous => "stray-ambiguous",
    }
}
