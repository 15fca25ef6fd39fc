// REJECTED. Theorem: theorem_asks_what_is_open (RD). Changed: a parked task is said to ask, answered or not. Expected: postcondition: a question that is answered is said to be asked again.
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

pub open spec fn step_spec(f: Facts) -> Step {
    if is_through(f) {
        Step::Skip
    } else if f.parked { // CHANGED from: } else if f.parked && !f.answered {
        Step::Ask
    } else {
        Step::Run
    }
}

/// THEOREM asked: a question is asked again exactly while nobody has answered it.
pub proof fn theorem_asks_what_is_open(f: Facts)
    ensures
        step_spec(f) == Step::Ask <==> !is_through(f) && f.parked && !f.answered, // FAILS
{
}

} // verus!
