//! `remit_core::answers`.
use pyo3::prelude::*;
use remit_core::answers as core;

/// What a batch of writes says about its task.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Batch {
    /// The task asked a question.
    Parked,
    /// The task failed, and no error handler takes over.
    Failed,
    /// Anything else.
    Other,
}

/// How to store a batch: (answers kept in the task's row or None, take them from the loaded list,
/// question whose answer goes to its waiting row or None, question whose waiting row is marked empty or None,
/// leave out ordinary writes).
#[pyfunction]
pub fn store(
    batch: Batch,
    given: Option<usize>,
    recorded: usize,
    marked: bool,
    failed: bool,
) -> (Option<usize>, bool, Option<usize>, Option<usize>, bool) {
    let batch = match batch {
        Batch::Parked => core::Batch::Parked,
        Batch::Failed => core::Batch::Failed,
        Batch::Other => core::Batch::Other,
    };
    let s = core::store(batch, given, recorded, marked, failed);
    (s.keep, s.restore, s.waits_for, s.marks, s.drops_output)
}

/// The question that a bare answer is bound to, and whether it takes its place in the list.
#[pyfunction]
pub fn binds_to(
    parked: bool,
    failed: bool,
    marked: bool,
    recorded: usize,
) -> Option<(usize, bool)> {
    core::binds_to(parked, failed, marked, recorded)
}

/// The question that a task has open, if it is known.
#[pyfunction]
pub fn open_question(parked: bool, failed: bool, marked: bool, recorded: usize) -> Option<usize> {
    core::open_question(parked, failed, marked, recorded)
}
