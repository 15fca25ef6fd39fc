//! `remit_core::ledger`.
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use remit_core::ledger as core;

struct State {
    tasks: HashMap<String, u64>,
    ledger: core::Ledger,
}

/// What one run has admitted, once each.
#[pyclass(module = "remit._core", frozen)]
pub struct Ledger(Mutex<State>);

#[pymethods]
impl Ledger {
    #[new]
    fn new() -> Self {
        Ledger(Mutex::new(State {
            tasks: HashMap::new(),
            ledger: core::empty(),
        }))
    }

    /// Admits an effect of a task; False if it was admitted before.
    fn admit(&self, task: String, effect: u64) -> bool {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        let fresh = state.tasks.len() as u64;
        let task = *state.tasks.entry(task).or_insert(fresh);
        state.ledger.admit(0, task, effect).is_ok()
    }
}
