// REJECTED. Theorem: exec_keeps, clause cv_holds, on which theorem_contract rests (CV). Changed: FaultInvalidPersist may be on: the last record is invalid and persisted. Expected: postcondition: ExecTask makes an invalid record durable.
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
    &&& true // CHANGED from: &&& !c.faults.invalid_persist
    &&& !c.faults.nondet_recovery
    &&& !c.faults.double_consume
    &&& !c.faults.prefix_replay
    &&& c.ip < c.n
}

pub proof fn exec_keeps_it(c: Consts, s: S)
    requires
        shape(c),
        allowed(c),
        inv(c, s),
        can_exec(c, s),
    ensures
        cv_holds(exec_task(c, s)), // FAILS
{
    assert(s.effects[s.pc - 1] == (if s.pc <= s.dur { 1nat } else { 0nat }));
}

} // verus!
