//! `remit_core::recovery`.
use pyo3::prelude::*;
use remit_core::recovery::{plan, Decision, Record};

/// Which of the tasks run again: `recorded` are the tasks that have durable outputs, in whatever order.
#[pyfunction]
pub fn unfinished(recorded: Vec<u64>, tasks: Vec<u64>) -> Vec<u64> {
    let log: Vec<Record> = recorded
        .iter()
        .enumerate()
        .map(|(place, task)| Record {
            place: place as u64,
            task: *task,
        })
        .collect();
    let decisions = plan(&log, &tasks);
    tasks
        .iter()
        .zip(decisions)
        .filter(|(_, d)| *d == Decision::Run)
        .map(|(t, _)| *t)
        .collect()
}
