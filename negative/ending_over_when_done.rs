// REJECTED. Theorem: theorem_over_is_heard (CO, live). Changed: a run is over when all tasks are done, also if all are well. Expected: postcondition: a run whose checkpoint is yet to come is taken for gone.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/claim.rs"]
mod claim;
#[path = "../proof/claim_spec.rs"]
mod claim_spec;
#[path = "../crates/remit-core/src/ending.rs"]
mod ending;
#[path = "../proof/ending_spec.rs"]
mod ending_spec;

use claim::*;
use claim_spec::*;
use ending::*;
use ending_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn is_over_spec(triggered: u64, ts: Seq<Outcome>) -> bool {
    &&& triggered > 0
    &&& ts.len() >= triggered
    // CHANGED from: &&& exists|i: int| 0 <= i < ts.len() && is_stuck(#[trigger] ts[i])
}

/// THEOREM over: where a run is taken for over, something of it is heard: a question or a failure.
pub proof fn theorem_over_is_heard(triggered: u64, ts: Seq<Outcome>)
    requires
        is_over_spec(triggered, ts),
    ensures
        !(fate_spec(ts) is Gone), // FAILS
{
}

} // verus!
