//! `remit_core::ids`.
use pyo3::prelude::*;
use remit_core::ids as core;

/// Takes a row id apart: (task id, branch, question it waits for, is it a question, attempt), None where it is not so.
#[pyfunction]
pub fn parse_row(id: &str) -> (String, Option<String>, Option<usize>, bool, Option<usize>) {
    let row = core::parse(id);
    (row.task, row.branch, row.waits_for, row.asks, row.attempt)
}

/// Puts a row id together.
#[pyfunction]
#[pyo3(signature = (task, branch=None, *, waits_for=None, asks=false, attempt=None))]
pub fn row_id(
    task: &str,
    branch: Option<&str>,
    waits_for: Option<usize>,
    asks: bool,
    attempt: Option<usize>,
) -> String {
    let part = match (waits_for, asks, attempt) {
        (Some(n), _, _) => core::Part::Waiting(n),
        (None, true, _) => core::Part::Question,
        (None, false, Some(n)) => core::Part::Attempt(n),
        (None, false, None) => core::Part::Own,
    };
    core::format(task, branch, part)
}

/// The ordinal of a branch, if it forks from this checkpoint.
#[pyfunction]
pub fn branch_ordinal(branch: &str, checkpoint: &str) -> Option<usize> {
    core::ordinal(branch, checkpoint)
}

/// The name of a branch.
#[pyfunction]
pub fn branch_name(checkpoint: &str, ordinal: usize) -> String {
    core::branch(checkpoint, ordinal)
}
