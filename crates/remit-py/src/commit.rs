//! `remit_core::commit`: the durable prefix that one run extends.
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use remit_core::commit as core;

struct State {
    numbers: HashMap<String, u64>,
    plane: core::Plane,
    head: Option<String>,
}

/// The checkpoints of one run, from the one it loaded on.
#[pyclass(module = "remit._core", frozen)]
pub struct Prefix(Mutex<State>);

#[pymethods]
impl Prefix {
    /// `head`: the checkpoint that the run loaded, if there was one.
    #[new]
    fn new(head: Option<String>) -> Self {
        Prefix(Mutex::new(State {
            numbers: HashMap::new(),
            plane: core::empty(),
            head,
        }))
    }

    /// Extends the prefix by a checkpoint, or refuses and changes nothing. Returns None, or the refusal's code
    /// with its fields. A run without a head takes its first parent as given.
    fn commit(
        &self,
        id: String,
        parent: Option<&str>,
        valid: bool,
    ) -> Option<(&'static str, String)> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        if let Some(head) = &state.head {
            if parent != Some(head.as_str()) && !state.numbers.contains_key(&id) {
                return Some(("out-of-lineage", head.clone()));
            }
        }
        let fresh = state.numbers.len() as u64;
        let number = state.numbers.get(&id).copied().unwrap_or(fresh);
        match state.plane.commit(number, valid) {
            Ok(_) => {
                state.numbers.insert(id.clone(), number);
                state.head = Some(id);
                None
            }
            Err(core::Refusal::Invalid) => Some(("invalid-state", String::new())),
            Err(core::Refusal::Durable { step }) => Some(("durable-step", step.to_string())),
            Err(core::Refusal::Diverged { frontier, log }) => {
                Some(("out-of-lineage", format!("{frontier} of {log}")))
            }
        }
    }

    /// The checkpoint at which the run stands.
    #[getter]
    fn head(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .head
            .clone()
    }
}
