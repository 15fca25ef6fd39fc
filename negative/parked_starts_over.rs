// REJECTED. Theorem: crash_parked_keeps, clause frontier, on which theorem_contract_parked rests (PC). Changed: a run that crashed while it was parked starts over. Expected: postcondition: it stands before its durable frontier.
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

/// Recovery decides as it does elsewhere. Durable parking: `Skip` lands back in the park.
pub open spec fn crash_parked(c: Consts, durable: bool, p: P, d: Decision) -> P {
    P {
        s: S {
            pc: 1, // CHANGED from: pc: if d is Skip || !durable { p.s.pc } else { restart_at(c, p.s, d) },
            waiting: d is Skip && durable,
            rec_hist: p.s.rec_hist.push((p.s.dur, d)),
            crashes: p.s.crashes + 1,
            ..p.s
        },
        lost: !durable,
    }
}

pub proof fn crash_parked_keeps_it(c: Consts, durable: bool, p: P, d: Decision)
    requires
        shape(c),
        reference(c),
        inv(c, p.s),
        can_p(c, p, ActP::CrashParked { decision: d }),
    ensures
        frontier(crash_parked(c, durable, p, d).s), // FAILS
{
}

} // verus!
