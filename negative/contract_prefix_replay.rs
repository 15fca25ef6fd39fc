// REJECTED. Theorem: crash_keeps, clause frontier, on which theorem_contract rests (PC, EO). Changed: FaultPrefixReplay may be on: recovery restarts from task 1, the gated effect alone is served. Expected: postcondition: after CrashRecover the run stands before its durable frontier.
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
    &&& !c.faults.double_consume
    &&& true // CHANGED from: &&& !c.faults.prefix_replay
    &&& c.ip < c.n
}

pub proof fn crash_keeps_it(c: Consts, s: S, d: Decision)
    requires
        shape(c),
        allowed(c),
        inv(c, s),
        can_crash(c, s, d),
    ensures
        frontier(crash(c, s, d)), // FAILS
        pc_holds(crash(c, s, d)),
{
}

} // verus!
