//! The recovery plan: every log of up to five records of three tasks, in every order.
mod common;

use common::{orders, sequences};
use remit_core::recovery::{is_recorded, plan, Decision, Record};

const TASKS: [u64; 3] = [1, 2, 3];

fn log(tasks: &[u64]) -> Vec<Record> {
    tasks
        .iter()
        .zip(0..)
        .map(|(task, place)| Record { place, task: *task })
        .collect()
}

#[test]
fn the_plan_is_the_same_whatever_order_the_records_landed_in() {
    for tasks in sequences(&TASKS, 5) {
        let records = log(&tasks);
        let expected: Vec<Decision> = TASKS
            .iter()
            .map(|t| {
                if tasks.contains(t) {
                    Decision::Skip
                } else {
                    Decision::Run
                }
            })
            .collect();
        for order in orders(&records) {
            assert_eq!(plan(&order, &TASKS), expected, "{order:?}");
            // places, and where each record lies, do not matter either
            let moved: Vec<Record> = order.iter().map(|r| Record { place: 9, ..*r }).collect();
            assert_eq!(plan(&moved, &TASKS), expected);
        }
    }
}

#[test]
fn carrying_the_plan_out_leaves_nothing_to_run() {
    for tasks in sequences(&TASKS, 4) {
        let mut done = tasks.clone();
        let planned = plan(&log(&done), &TASKS);
        done.extend(
            TASKS
                .iter()
                .zip(&planned)
                .filter(|(_, d)| **d == Decision::Run)
                .map(|(t, _)| *t),
        );
        assert!(TASKS.iter().all(|t| is_recorded(&log(&done), *t)));
        assert_eq!(plan(&log(&done), &TASKS), [Decision::Skip; 3]);
        // and nothing that was durable was run again
        assert_eq!(
            done.len() - tasks.len(),
            TASKS.iter().filter(|t| !tasks.contains(t)).count()
        );
    }
}
