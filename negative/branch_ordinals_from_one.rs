// REJECTED. Theorem: theorem_gap_free (FI). Changed: the first ordinal of a checkpoint is 1. Expected: postcondition: no fork has the ordinal 0, a gap.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/branch.rs"]
mod branch;
#[path = "../proof/branch_spec.rs"]
mod branch_spec;

use branch::Fork;
use branch_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn next_ordinal(s: Seq<Fork>, c: u64) -> nat {
    forks_of(s, c) + 1 // CHANGED from: forks_of(s, c)
}

/// The next fork leaves no gap.
pub proof fn theorem_next_leaves_no_gap(s: Seq<Fork>, f: Fork)
    requires
        well_formed(s),
        f.ordinal == next_ordinal(s, f.checkpoint),
    ensures
        has_ordinal(s.push(f), f.checkpoint, forks_of(s, f.checkpoint) as int), // FAILS
{
    assert(s.push(f)[s.len() as int] == f);
}

} // verus!
