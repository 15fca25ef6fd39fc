// REJECTED. Theorem: theorem_parked_crash_can_be_answered, for theorem_eventually_completes_parked (live). Changed: the pending interrupt may die with the process. Expected: postcondition: the run is lost and cannot be answered.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../proof/contract.rs"]
mod contract;
#[path = "../proof/parked.rs"]
mod parked;

use contract::*;
use parked::*;
use vstd::prelude::*;

verus! {

/// The pending interrupt is part of the durable state.
pub open spec fn parks_durably(durable: bool) -> bool {
    true // CHANGED from: durable
}

/// A run that crashed while parked can be answered.
pub proof fn theorem_parked_crash_can_be_answered(c: Consts, durable: bool, p: P, d: Decision)
    requires
        shape(c),
        reference(c),
        parks_durably(durable),
        inv(c, p.s),
        can_p(c, p, ActP::CrashParked { decision: d }),
    ensures
        !crash_parked(c, durable, p, d).lost && can_consume_some(c, crash_parked(c, durable, p, d).s), // FAILS
{
    let v = choose|v: int| c.values.contains(v);
    if can_consume(c, crash_parked(c, durable, p, d).s, v) {
        assert(can_consume_some(c, crash_parked(c, durable, p, d).s));
    }
}

} // verus!
