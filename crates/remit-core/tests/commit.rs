//! The durable prefix: every sequence of up to five commits of three tasks, valid and invalid.
mod common;

use common::{sequences, BOTH};
use remit_core::commit::{empty, Plane, Refusal};

#[test]
fn the_prefix_grows_by_each_valid_step_once_and_by_nothing_else() {
    let steps: Vec<(u64, bool)> = (1..=3)
        .flat_map(|t| BOTH.map(move |valid| (t, valid)))
        .collect();
    for commits in sequences(&steps, 5) {
        let mut plane = empty();
        let mut durable: Vec<u64> = Vec::new();
        for (task, valid) in &commits {
            let expected = if !valid {
                Err(Refusal::Invalid)
            } else if let Some(step) = durable.iter().position(|t| t == task) {
                Err(Refusal::Durable { step })
            } else {
                durable.push(*task);
                Ok(durable.len() - 1)
            };
            assert_eq!(plane.commit(*task, *valid), expected, "{commits:?}");
            assert_eq!((&plane.log, plane.frontier), (&durable, durable.len()));
            assert_eq!(plane.step_of(*task), durable.iter().position(|t| t == task));
        }
    }
}

#[test]
fn a_step_that_is_not_durable_can_always_be_made_so() {
    for tasks in sequences(&[1, 2, 3], 4) {
        let mut plane = empty();
        for task in &tasks {
            // refusals in between change nothing
            let _ = plane.commit(*task, false);
            let _ = plane.commit(*task, true);
        }
        let frontier = plane.frontier;
        assert_eq!(plane.commit(9, true), Ok(frontier));
    }
}

#[test]
fn a_frontier_that_is_not_its_logs_is_refused_and_stays() {
    for log in 0..4u64 {
        for frontier in 0..4usize {
            let mut plane = Plane {
                log: (0..log).collect(),
                frontier,
            };
            let length = plane.log.len();
            let got = plane.commit(9, true);
            if frontier == length {
                assert_eq!(got, Ok(frontier));
            } else {
                let diverged = Refusal::Diverged {
                    frontier,
                    log: length,
                };
                assert_eq!(got, Err(diverged));
                assert_eq!((plane.log.len(), plane.frontier), (length, frontier));
            }
        }
    }
}
