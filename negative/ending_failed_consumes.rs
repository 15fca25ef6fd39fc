// REJECTED. Theorem: theorem_unrecorded_frees (CO, live). Changed: a task that failed counts as past its question. Expected: postcondition: an authority of which nobody recorded anything is consumed, and nobody can answer again.
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

pub open spec fn is_past(t: Outcome) -> bool {
    t.answered // CHANGED from: t.answered && !t.failed
}

pub open spec fn fate_spec(ts: Seq<Outcome>) -> Fate {
    if exists|i: int| 0 <= i < ts.len() && is_past(#[trigger] ts[i]) {
        Fate::ParkedAgain { answered: true }
    } else if exists|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).failed {
        Fate::Failed
    } else if exists|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).parked {
        Fate::ParkedAgain { answered: false }
    } else {
        Fate::Gone
    }
}

/// THEOREM live: an authority of which nobody recorded anything is given back.
pub proof fn theorem_unrecorded_frees(ts: Seq<Outcome>, owner: u64, fence: u64)
    requires
        forall|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).answered ==> ts[i].failed,
    ensures
        word_spec(owner, fence, fate_spec(ts)) is Release, // FAILS
{
}

} // verus!
