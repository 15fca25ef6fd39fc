// REJECTED. Theorem: theorem_recorded_consumes (CO). Changed: a failed sibling frees the claim although another task recorded an answer. Expected: postcondition: a recorded answer can be taken again.
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

pub open spec fn fate_spec(ts: Seq<Outcome>) -> Fate {
    if exists|i: int| 0 <= i < ts.len() && is_past(#[trigger] ts[i]) && forall|j: int| 0 <= j < ts.len() ==> !(#[trigger] ts[j]).failed { // CHANGED from: if exists|i: int| 0 <= i < ts.len() && is_past(#[trigger] ts[i]) {
        Fate::ParkedAgain { answered: true }
    } else if exists|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).failed {
        Fate::Failed
    } else if exists|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).parked {
        Fate::ParkedAgain { answered: false }
    } else {
        Fate::Gone
    }
}

/// THEOREM recorded: an answer that was recorded is not taken again.
pub proof fn theorem_recorded_consumes(ts: Seq<Outcome>, i: int, owner: u64, fence: u64)
    requires
        0 <= i < ts.len(),
        is_past(ts[i]),
    ensures
        word_spec(owner, fence, fate_spec(ts)) == (Input::Consume { owner, fence }), // FAILS
{
}

} // verus!
