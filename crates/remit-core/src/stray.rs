//! Whether a resume answers anything. Source: DESIGN 10 and 16.
#[cfg(verus_only)]
use super::stray_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// What is known of the thread that a resume addresses.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thread {
    /// It has no checkpoint.
    Absent,
    /// The addressed checkpoint does not exist, though the call names one.
    NoSuchCheckpoint,
    /// Nothing is left to run.
    Finished,
    /// A question is open.
    Parked,
    /// Something is left to run, and no question is open: a static breakpoint, a failed or killed run.
    Unfinished,
    /// It cannot be told (a graph that is not built by StateGraph or the functional API).
    Unknown,
}

/// The answer that a resume carries.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Without a name: for whoever asks.
    Bare {
        /// How many questions are open, which may take it.
        takers: usize,
        /// LangGraph refuses it itself.
        refused: bool,
    },
    /// By interrupt id: how many ids, and how many of them are open.
    Named {
        /// Ids in the map.
        names: usize,
        /// Ids in the map that are open.
        open: usize,
    },
}

/// What is wrong with it.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The thread does not exist.
    NoThread,
    /// The addressed checkpoint does not exist.
    NoSuchCheckpoint,
    /// The thread waits for nothing.
    NotWaiting,
    /// No id in the map is open.
    UnknownInterrupt,
    /// Some ids in the map are not open.
    SomeUnknown,
    /// The map is empty.
    EmptyMap,
    /// Bare answers are not accepted here.
    Unnamed,
    /// More than one question may take a bare answer.
    Ambiguous,
}

/// What the user wants done with strays.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Report and go on, where going on fires nothing.
    Warn,
    /// Raise.
    Raise,
    /// Say nothing.
    Ignore,
}

/// The verdict on a resume.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It answers something.
    Accept,
    /// It is reported; the run that follows fires nothing.
    Report(Reason),
    /// It is refused before anything runs.
    Refuse(Reason),
}

/// Judges a resume. A stray that could not run anything is reported; one that would run something (start the
/// graph, or run a parked node up to its question again) is refused: a stray fires nothing.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == judge_spec(thread, answer, named_only, policy),
))]
pub fn judge(thread: Thread, answer: Answer, named_only: bool, policy: Policy) -> Verdict {
    let (reason, inert) = match (thread, answer) {
        (Thread::NoSuchCheckpoint, _) => return Verdict::Refuse(Reason::NoSuchCheckpoint),
        // LangGraph would start the graph
        (Thread::Absent, _) => (Reason::NoThread, false),
        (Thread::Finished, _) => (Reason::NotWaiting, true),
        (_, Answer::Bare { .. }) if named_only => return Verdict::Refuse(Reason::Unnamed),
        (Thread::Parked, Answer::Bare { takers, refused }) if takers > 1 && !refused => {
            (Reason::Ambiguous, false)
        }
        (_, Answer::Bare { .. }) => return Verdict::Accept,
        (_, Answer::Named { names: 0, .. }) => (Reason::EmptyMap, false),
        (_, Answer::Named { open: 0, .. }) => (Reason::UnknownInterrupt, false),
        // newer releases of LangGraph take the id of a task's first question for any question of it
        (_, Answer::Named { names, open }) if open < names => (Reason::SomeUnknown, false),
        (_, Answer::Named { .. }) => return Verdict::Accept,
    };
    match policy {
        Policy::Ignore => Verdict::Accept,
        Policy::Warn if inert => Verdict::Report(reason),
        Policy::Warn | Policy::Raise => Verdict::Refuse(reason),
    }
}
