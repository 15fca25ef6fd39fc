//! `remit_core::ids`.
use pyo3::prelude::*;
use remit_core::ids as core;

/// Takes a row id apart: (task id, branch or None, question it waits for or None, is it a question).
#[pyfunction]
pub fn parse_row(id: &str) -> (String, Option<String>, Option<usize>, bool) {
    let row = core::parse(id);
    (row.task, row.branch, row.waits_for, row.asks)
}

/// Puts a row id together.
#[pyfunction]
#[pyo3(signature = (task, branch=None, waits_for=None, asks=false))]
pub fn row_id(task: &str, branch: Option<&str>, waits_for: Option<usize>, asks: bool) -> String {
    core::format(task, branch, waits_for, asks)
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
