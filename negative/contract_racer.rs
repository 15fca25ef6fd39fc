// REJECTED. Theorem: racer_keeps_count, on which theorem_consume_count rests (CO-c). Changed: the racer may exist. Expected: postcondition: a second consumption of one interrupt.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../proof/contract.rs"]
mod contract;
#[path = "../proof/consume_count.rs"]
mod consume_count;

use contract::*;
use consume_count::*;
use vstd::prelude::*;

verus! {

/// The racer does not exist.
pub open spec fn no_race(r: Race) -> bool {
    true // CHANGED from: !r.enabled
}

pub proof fn racer_keeps_count(c: Consts, r: Race, x: S11, v: int)
    requires
        shape(c),
        reference(c),
        no_race(r),
        inv11(c, x),
        can11(c, r, x, Act11::Racer { v }),
    ensures
        taken_iff_answered(next11(c, r, x, Act11::Racer { v })), // FAILS
{
}

} // verus!
