// REJECTED. Theorem: theorem_admit_duplicate, for theorem_exactly_once (EO). Changed: an effect that was admitted before is admitted again. Expected: postcondition: the ledger holds it twice.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/ledger.rs"]
mod ledger;
#[path = "../proof/ledger_spec.rs"]
mod ledger_spec;

use ledger::*;
use ledger_spec::*;
use vstd::prelude::*;

verus! {

/// One admission, as a function of the log.
pub open spec fn admit_spec(log: Seq<Record>, r: Record) -> Seq<Record> {
    if true { // CHANGED from: if count(log, r.branch, r.task, r.effect) == 0 {
        log.push(r)
    } else {
        log
    }
}

/// THEOREM admit-duplicate: a refused admission changes nothing.
pub proof fn theorem_admit_duplicate(log: Seq<Record>, r: Record)
    requires
        count(log, r.branch, r.task, r.effect) >= 1,
    ensures
        admit_spec(log, r) == log, // FAILS
{
}

} // verus!
