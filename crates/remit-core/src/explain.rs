//! What a bare retry does with each task of a checkpoint, told before anybody resumes.
#[cfg(verus_only)]
use super::explain_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// What the durable log says of a task.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Its outputs are recorded, and shown.
    pub recorded: bool,
    /// It asks something that is not answered for good.
    pub parked: bool,
    /// An answer to that waits for it, here or in the graph below that asks.
    pub answered: bool,
    /// It failed.
    pub failed: bool,
    /// An error handler took its failure over.
    pub handled: bool,
}

/// What becomes of it.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It is not run again.
    Skip,
    /// It runs up to its question, and asks it again.
    Ask,
    /// It runs.
    Run,
}

/// Why.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// What it put out is durable.
    Recorded,
    /// Its failure was taken over by a handler.
    Handled,
    /// Nobody has answered.
    Unanswered,
    /// It was answered.
    Answered,
    /// It failed.
    Failed,
    /// Nothing of it is durable.
    Nothing,
}

/// The plan for one task.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == on_retry_spec(facts),
))]
pub fn on_retry(facts: Facts) -> (Step, Why) {
    if facts.recorded {
        (Step::Skip, Why::Recorded)
    } else if facts.handled {
        (Step::Skip, Why::Handled)
    } else if facts.parked && facts.answered {
        (Step::Run, Why::Answered)
    } else if facts.parked {
        (Step::Ask, Why::Unanswered)
    } else if facts.failed {
        (Step::Run, Why::Failed)
    } else {
        (Step::Run, Why::Nothing)
    }
}
