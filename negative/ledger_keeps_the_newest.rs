// REJECTED. Theorem: theorem_append_only (EO). Changed: a ledger keeps its newest record only. Expected: postcondition: an earlier admission is gone from the ledger.
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
    if count(log, r.branch, r.task, r.effect) == 0 {
        seq![r] // CHANGED from: log.push(r)
    } else {
        log
    }
}

/// One request appends, or changes nothing.
pub proof fn theorem_one_request_appends(log: Seq<Record>, r: Record)
    ensures
        log.is_prefix_of(admit_spec(log, r)), // FAILS
{
}

} // verus!
