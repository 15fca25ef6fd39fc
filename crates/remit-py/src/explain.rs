//! `remit_core::explain`.
use pyo3::prelude::*;
use remit_core::explain as core;

/// What a bare retry does with a task ("skip", "ask" or "run"), and why, as a word.
#[pyfunction]
#[pyo3(signature = (*, recorded, parked, answered, failed, handled))]
pub fn on_retry(
    recorded: bool,
    parked: bool,
    answered: bool,
    failed: bool,
    handled: bool,
) -> (&'static str, &'static str) {
    let (step, why) = core::on_retry(core::Facts {
        recorded,
        parked,
        answered,
        failed,
        handled,
    });
    let step = match step {
        core::Step::Skip => "skip",
        core::Step::Ask => "ask",
        core::Step::Run => "run",
    };
    let why = match why {
        core::Why::Recorded => "recorded",
        core::Why::Handled => "handled",
        core::Why::Unanswered => "unanswered",
        core::Why::Answered => "answered",
        core::Why::Failed => "failed",
        core::Why::Nothing => "nothing",
    };
    (step, why)
}
