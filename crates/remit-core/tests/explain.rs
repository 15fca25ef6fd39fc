//! The plan of a retry, for all 32 states of a task's log.
mod common;

use common::BOTH;
use remit_core::explain::{on_retry, Facts, Step, Why};

fn all() -> Vec<Facts> {
    let mut all = Vec::new();
    for recorded in BOTH {
        for parked in BOTH {
            for answered in BOTH {
                for failed in BOTH {
                    for handled in BOTH {
                        all.push(Facts {
                            recorded,
                            parked,
                            answered,
                            failed,
                            handled,
                        });
                    }
                }
            }
        }
    }
    all
}

#[test]
fn what_is_durable_is_skipped_and_nothing_else() {
    for facts in all() {
        let (step, _) = on_retry(facts);
        assert_eq!(step == Step::Skip, facts.recorded || facts.handled);
    }
}

#[test]
fn it_asks_exactly_where_nobody_answered() {
    for facts in all() {
        let (step, why) = on_retry(facts);
        let open = facts.parked && !facts.answered && !facts.recorded && !facts.handled;
        assert_eq!(step == Step::Ask, open);
        assert_eq!(why == Why::Unanswered, open);
    }
}

#[test]
fn the_reason_is_a_fact() {
    for facts in all() {
        let holds = match on_retry(facts).1 {
            Why::Recorded => facts.recorded,
            Why::Handled => facts.handled,
            Why::Unanswered => facts.parked && !facts.answered,
            Why::Answered => facts.parked && facts.answered,
            Why::Failed => facts.failed,
            Why::Nothing => !facts.recorded && !facts.parked && !facts.failed,
        };
        assert!(holds, "{facts:?}");
    }
}
