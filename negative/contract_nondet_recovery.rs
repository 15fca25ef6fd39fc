// REJECTED. Theorem: crash_keeps, clause one_rule, on which theorem_contract rests (RD). Changed: FaultNondetRecovery may be on: skip or re-execute, free at equal durable state. Expected: postcondition: CrashRecover may decide against the plane's rule.
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
    &&& true // CHANGED from: &&& !c.faults.nondet_recovery
    &&& !c.faults.double_consume
    &&& !c.faults.prefix_replay
    &&& c.ip < c.n
}

pub proof fn crash_keeps_it(c: Consts, s: S, d: Decision)
    requires
        shape(c),
        allowed(c),
        inv(c, s),
        can_crash(c, s, d),
    ensures
        one_rule(c, crash(c, s, d)), // FAILS
{
}

} // verus!
