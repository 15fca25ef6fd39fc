//! `remit_core::sequencer`.
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use remit_core::sequencer as core;

/// What arrived at a plane.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Pending writes of a task.
    Writes,
    /// A checkpoint.
    Checkpoint,
}

/// The order in which the operations of one plane land.
#[pyclass(module = "remit._core", frozen)]
pub struct Sequencer(Mutex<core::Sequencer>);

impl Sequencer {
    fn lock(&self) -> MutexGuard<'_, core::Sequencer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Sequencer {
    #[new]
    fn new() -> Self {
        Sequencer(Mutex::new(core::Sequencer::default()))
    }

    /// Numbers an operation.
    fn arrive(&self, kind: Kind) -> u64 {
        self.lock().arrive(match kind {
            Kind::Writes => core::Kind::Writes,
            Kind::Checkpoint => core::Kind::Checkpoint,
        })
    }

    /// May the operation land now?
    fn is_ready(&self, seq: u64) -> bool {
        self.lock().is_ready(seq)
    }

    /// The operation has landed, or failed. Returns whether nothing is under way any more.
    fn finish(&self, seq: u64) -> bool {
        let mut sequencer = self.lock();
        sequencer.finish(seq);
        sequencer.is_idle()
    }
}
