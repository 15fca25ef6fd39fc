// REJECTED. Theorem: theorem_the_reason_is_a_fact (RD). Changed: a task of which nothing is durable is said to have failed. Expected: postcondition: the reason that is told is not a fact.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/explain.rs"]
mod explain;
#[path = "../proof/explain_spec.rs"]
mod explain_spec;

use explain::*;
use explain_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn why_spec(f: Facts) -> Why {
    if f.recorded {
        Why::Recorded
    } else if f.handled {
        Why::Handled
    } else if f.parked {
        if f.answered { Why::Answered } else { Why::Unanswered }
    } else if true { // CHANGED from: } else if f.failed {
        Why::Failed
    } else {
        Why::Nothing
    }
}

/// THEOREM reason: the reason that is told is a fact, and the step follows from it.
pub proof fn theorem_the_reason_is_a_fact(f: Facts)
    ensures
        is_a_fact(f, why_spec(f)), // FAILS
        step_spec(f) == Step::Skip <==> why_spec(f) == Why::Recorded || why_spec(f) == Why::Handled,
        step_spec(f) == Step::Ask <==> why_spec(f) == Why::Unanswered,
{
}

} // verus!
