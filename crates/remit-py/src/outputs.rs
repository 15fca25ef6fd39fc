//! `remit_core::outputs`.
use pyo3::prelude::*;
use remit_core::outputs as core;

use crate::view::Intent;

/// Does a load with this intent show a task's recorded outputs?
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn shows_output(
    intent: Intent,
    null: bool,
    own: bool,
    asked: bool,
    answered: bool,
    failed: bool,
    handled: bool,
    marked: bool,
) -> bool {
    core::shows(
        intent.into(),
        core::Task {
            null,
            own,
            asked,
            answered,
            failed,
            handled,
            marked,
        },
    )
}
