// REJECTED. Theorem: theorem_later_grants_look_again (CO). Changed: any grant on an open question is taken for the first one. Expected: postcondition: a grant after another one acts on what may be the past.
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

pub open spec fn is_present_spec(fence: u64, p: Position) -> bool {
    p.is_new || (p.asks && p.tasks == 1 && p.is_untouched) // CHANGED from: fence == 1 && (p.is_new || (p.asks && p.tasks == 1 && p.is_untouched))
}

/// THEOREM present: a grant after another one is never taken for the first look.
pub proof fn theorem_later_grants_look_again(fence: u64, p: Position)
    requires
        fence != 1,
    ensures
        !is_present_spec(fence, p), // FAILS
{
}

} // verus!
