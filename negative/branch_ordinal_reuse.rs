// REJECTED. Theorem: theorem_fresh_ordinal, for theorem_injective (FD). Changed: an abandoned fork gives its ordinal back. Expected: postcondition: the next fork has the ordinal of the one before.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/branch.rs"]
pub mod branch;
#[path = "../proof/branch_spec.rs"]
pub mod branch_spec;

use branch::{Fork, Forks};
use branch_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn abandoned(s: Seq<Fork>) -> Seq<Fork> {
    if s.len() > 0 { s.drop_last() } else { s } // CHANGED from: s
}


/// After a fork and its abandonment, the checkpoint's next ordinal is not that of any fork it handed out.
pub proof fn theorem_no_reuse(s: Seq<Fork>, f: Fork)
    requires
        well_formed(s),
        f.ordinal == forks_of(s, f.checkpoint),
        f.token is None,
    ensures
        forks_of(abandoned(s.push(f)), f.checkpoint) != f.ordinal, // FAILS
{
    theorem_fresh(s, f);
    lemma_take_next(s.push(f), s.len() as int, f.checkpoint);
    assert(s.push(f).take(s.len() as int) =~= s);
    assert(s.push(f).take(s.len() as int + 1) =~= s.push(f));
    assert(s.push(f).drop_last() =~= s);
}

} // verus!

#[cfg_attr(verus_only, verus_spec(
    ensures
        final(forks).entries@ == abandoned(old(forks).entries@),
))]
pub fn abandon(forks: &mut Forks) {
    forks.entries.pop(); // CHANGED from:
}
