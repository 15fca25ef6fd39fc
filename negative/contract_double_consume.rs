// REJECTED. Theorem: extra_keeps, clause counted, on which theorem_contract rests (CO, EO). Changed: FaultDoubleConsume may be on: a stray to a completed run fires the gate. Expected: postcondition: ExtraResume fires the gated effect a second time.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../proof/contract.rs"]
mod contract;

use contract::*;
use vstd::prelude::*;

verus! {

pub open spec fn allowed(c: Consts) -> bool {
    &&& !c.faults.replay
    &&& !c.faults.fork_ignore
    &&& !c.faults.invalid_persist
    &&& !c.faults.nondet_recovery
    &&& true // CHANGED from: &&& !c.faults.double_consume
    &&& !c.faults.prefix_replay
    &&& c.ip < c.n
}

pub proof fn extra_keeps_it(c: Consts, s: S)
    requires
        shape(c),
        allowed(c),
        inv(c, s),
        can_extra(c, s),
    ensures
        counted(c, extra(c, s)), // FAILS
{
    assert(s.effects[c.ip - 1] == (if c.ip <= s.dur { 1nat } else { 0nat }));
}

} // verus!
