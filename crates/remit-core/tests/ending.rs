//! The end of a run: every outcome of up to four tasks, held against what a claim may and must become.
mod common;

use common::{sequences, BOTH};
use remit_core::claim::{word, Fate, Input};
use remit_core::ending::{fate, is_over, is_present, Outcome, Position};

fn outcomes() -> Vec<Outcome> {
    let facts = sequences(&BOTH, 3);
    let of = |f: &Vec<bool>| Outcome {
        answered: f[0],
        failed: f[1],
        parked: f[2],
    };
    facts.iter().filter(|f| f.len() == 3).map(of).collect()
}

fn runs() -> Vec<Vec<Outcome>> {
    sequences(&outcomes(), 4)
}

/// Somebody recorded an answer, and will go on from there.
fn somebody_recorded(run: &[Outcome]) -> bool {
    run.iter().any(|t| t.answered && !t.failed)
}

#[test]
fn a_claim_is_consumed_if_an_answer_was_recorded_and_else_given_back() {
    for run in runs() {
        let consumes = matches!(word(7, 1, fate(&run)), Input::Consume { .. });
        assert_eq!(consumes, somebody_recorded(&run), "{run:?}");
    }
}

#[test]
fn it_does_not_matter_which_task_came_first() {
    for run in runs() {
        let mut backwards = run.clone();
        backwards.reverse();
        assert_eq!(fate(&run), fate(&backwards), "{run:?}");
        let n = run.len() as u64;
        assert_eq!(is_over(n, &run), is_over(n, &backwards), "{run:?}");
    }
}

#[test]
fn a_run_is_over_when_all_are_done_and_not_all_are_well() {
    for run in runs() {
        let well = run.iter().all(|t| !t.failed && !t.parked);
        let n = run.len() as u64;
        assert!(!is_over(n + 1, &run), "one is still to come: {run:?}");
        assert_eq!(is_over(n, &run), n > 0 && !well, "{run:?}");
        assert!(!is_over(0, &run), "nobody knows how many there are");
        // what is taken for over says more than that it is gone
        assert!(!is_over(n, &run) || fate(&run) != Fate::Gone, "{run:?}");
    }
}

#[test]
fn the_position_is_read_again_unless_nobody_can_have_passed_it() {
    for facts in sequences(&BOTH, 3).into_iter().filter(|f| f.len() == 3) {
        for tasks in 0..3 {
            let p = Position {
                is_new: facts[0],
                asks: facts[1],
                tasks,
                is_untouched: facts[2],
            };
            let kept = p.is_new || (p.asks && p.is_untouched && p.tasks == 1);
            assert_eq!(is_present(1, p), kept, "{p:?}");
            assert!(!is_present(2, p) && !is_present(0, p), "{p:?}");
        }
    }
}
