// REJECTED. Theorem: fork_keeps, clause fd_holds, on which theorem_contract rests (FD). Changed: FaultForkIgnore may be on: a second resume is served the first outcome. Expected: postcondition: ForkResume serves a value that was not supplied.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../proof/contract.rs"]
mod contract;

use contract::*;
use vstd::prelude::*;

verus! {

pub open spec fn allowed(c: Consts) -> bool {
    &&& !c.faults.replay
    &&& true // CHANGED from: &&& !c.faults.fork_ignore
    &&& !c.faults.invalid_persist
    &&& !c.faults.nondet_recovery
    &&& !c.faults.double_consume
    &&& !c.faults.prefix_replay
    &&& c.ip < c.n
}

pub proof fn fork_keeps_it(c: Consts, s: S, v: int)
    requires
        shape(c),
        allowed(c),
        inv(c, s),
        can_fork(c, s, v),
    ensures
        fd_holds(fork(c, s, v)), // FAILS
{
}

} // verus!
