// REJECTED. Theorem: theorem_in_doubt_is_admitted_and_gone (EO). Changed: an owner whose lease has run out is taken for gone, though it is seen alive. Expected: postcondition: an effect is in doubt while its owner is at it.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/claim.rs"]
mod claim;
#[path = "../proof/claim_spec.rs"]
mod claim_spec;
#[path = "../proof/claim_system.rs"]
mod claim_system;
#[path = "../crates/remit-core/src/effect.rs"]
mod effect;
#[path = "../proof/effect_spec.rs"]
mod effect_spec;
#[path = "../proof/effect_system.rs"]
mod effect_system;

use effect::*;
use effect_spec::*;
use effect_system::*;
use vstd::prelude::*;

verus! {

/// Admitted, and nobody is there to say what became of it.
pub open spec fn in_doubt(e: Effect, owner: Owner, now: u64) -> bool {
    match e.state {
        State::Admitted { fence: _, until } => match owner {
            Owner::Alive => now >= until, // CHANGED from: Owner::Alive => false,
            Owner::Gone => true,
            Owner::Unknown => now >= until,
        },
        _ => false,
    }
}

/// (3) In doubt is exactly: admitted, not done, and its owner is gone ...
pub proof fn theorem_in_doubt_is_admitted_and_gone(w: World, n: Name, owner: Owner, now: u64)
    requires
        inv(w),
        sees(w, n, owner),
    ensures
        in_doubt(row(w, n).effect, owner, now) <==> row(w, n).effect.state is Admitted && row(w, n).result is None && gone( // FAILS
            w,
            n,
            row(w, n).effect.last,
        ),
{
    assert(row_inv(row(w, n)));
}

} // verus!
