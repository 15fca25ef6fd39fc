//! What a load may show of a task's recorded outputs.

use crate::view::Intent;

#[cfg(verus_only)]
use super::outputs_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// The facts of one task's recorded rows.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// It is the null task: the rows are a call's input, not a task's output.
    pub null: bool,
    /// The rows are of the branch that reads them, or of no branch.
    pub own: bool,
    /// It asked a question at this checkpoint.
    pub asked: bool,
    /// It recorded an answer at this checkpoint.
    pub answered: bool,
    /// It failed at this checkpoint.
    pub failed: bool,
    /// An error handler took over from it.
    pub handled: bool,
    /// The failure was recorded without outputs, so outputs beside it are a later, finished run's.
    pub marked: bool,
}

/// Are the outputs shown? A fork does not see what another branch answered and what came of it; nobody sees what
/// a task had written before it failed (public report langgraph#8834: it would count as finished).
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == shows_spec(intent, t),
))]
pub fn shows(intent: Intent, t: Task) -> bool {
    let partial = t.failed && !t.handled && !t.marked;
    match intent {
        Intent::Inspect => true,
        Intent::Fork => t.own || !(t.null || t.asked || t.answered || partial),
        Intent::Retry | Intent::Answer | Intent::NewInput | Intent::Unknown => t.null || !partial,
    }
}
