//! Which recorded outputs a load shows: all inputs.
mod common;

use common::BOTH;
use remit_core::outputs::{shows, Task};
use remit_core::view::Intent;

const INTENTS: [Intent; 6] = [
    Intent::Inspect,
    Intent::Fork,
    Intent::Retry,
    Intent::Answer,
    Intent::NewInput,
    Intent::Unknown,
];

fn tasks() -> Vec<Task> {
    let bit = |n: u32, i: u32| n >> i & 1 == 1;
    (0..128)
        .map(|n| Task {
            null: bit(n, 0),
            own: bit(n, 1),
            asked: bit(n, 2),
            answered: bit(n, 3),
            failed: bit(n, 4),
            handled: bit(n, 5),
            marked: bit(n, 6),
        })
        .collect()
}

/// What a task had written before it failed, and nobody took over: it must not count as finished.
fn is_partial(t: Task) -> bool {
    t.failed && !t.handled && !t.marked
}

#[test]
fn who_looks_sees_everything() {
    assert!(tasks().iter().all(|t| shows(Intent::Inspect, *t)));
}

#[test]
fn what_a_failed_task_had_written_is_not_run_on_with() {
    for t in tasks().into_iter().filter(|t| is_partial(*t) && !t.null) {
        for intent in INTENTS {
            let off_its_own_fork = intent != Intent::Inspect && !(intent == Intent::Fork && t.own);
            if off_its_own_fork {
                assert!(!shows(intent, t), "{intent:?} {t:?}");
            }
        }
    }
}

#[test]
fn a_finished_task_is_not_run_again() {
    for t in tasks().into_iter().filter(|t| !is_partial(*t)) {
        for intent in [
            Intent::Retry,
            Intent::Answer,
            Intent::NewInput,
            Intent::Unknown,
        ] {
            assert!(shows(intent, t), "{intent:?} {t:?}");
        }
    }
}

#[test]
fn a_fork_sees_its_own_rows_and_the_tasks_that_the_answer_does_not_touch() {
    for t in tasks() {
        let untouched = !t.null && !t.asked && !t.answered && !is_partial(t);
        assert_eq!(shows(Intent::Fork, t), t.own || untouched, "{t:?}");
    }
}

#[test]
fn a_calls_input_is_kept() {
    for own in BOTH {
        let t = Task {
            null: true,
            own,
            asked: false,
            answered: true,
            failed: true,
            handled: false,
            marked: false,
        };
        assert!(shows(Intent::Retry, t) && shows(Intent::Answer, t));
        assert_eq!(shows(Intent::Fork, t), own);
    }
}
