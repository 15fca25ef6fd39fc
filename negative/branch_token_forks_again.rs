// REJECTED. Theorem: theorem_token (FI). Changed: a token that is in use names a fresh fork. Expected: postcondition: a token names two branches of one checkpoint.
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

pub open spec fn after_fork(s: Seq<Fork>, f: Fork) -> Seq<Fork> {
    if f.token is Some && false { // CHANGED from: if f.token is Some && used(s, f.checkpoint, f.token->0) {
        s
    } else {
        s.push(f)
    }
}

/// A token that is given again names the branch that it named.
pub proof fn theorem_token_again(s: Seq<Fork>, f: Fork, o1: usize, o2: usize)
    requires
        well_formed(s),
        f.ordinal == forks_of(s, f.checkpoint),
        f.token is Some,
        names(s, f.checkpoint, f.token->0, o1),
        names(after_fork(s, f), f.checkpoint, f.token->0, o2),
    ensures
        o1 == o2, // FAILS
{
    let t = f.token->0;
    let i = choose|i: int| 0 <= i < s.len() && carries(#[trigger] s[i], f.checkpoint, t) && s[i].ordinal == o1;
    assert(carries(s[i], f.checkpoint, t));
    assert(used(s, f.checkpoint, t));
    if names(s, f.checkpoint, t, o2) {
        theorem_token(s, s, f.checkpoint, t, o1, o2);
    }
}

} // verus!
