// REJECTED. Theorem: theorem_branches_apart (FD). Changed: a fork sees what came of another branch's answer. Expected: postcondition: another branch's output is shown to the fork.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/outputs.rs"]
mod outputs;
#[path = "../proof/outputs_spec.rs"]
mod outputs_spec;
#[path = "../crates/remit-core/src/view.rs"]
mod view;
#[path = "../proof/view_spec.rs"]
mod view_spec;

use outputs::*;
use outputs_spec::*;
use view::Intent;
use vstd::prelude::*;

verus! {

pub open spec fn shows_spec(intent: Intent, t: Task) -> bool {
    match intent {
        Intent::Inspect => true,
        Intent::Fork => t.own || !partial(t), // CHANGED from: Intent::Fork => t.own || (!t.null && !t.asked && !t.answered && !partial(t)),
        _ => t.null || !partial(t),
    }
}

/// THEOREM branches: a fork does not see what came of another branch's question or answer, nor another call's input.
pub proof fn theorem_branches_apart(t: Task)
    requires
        !t.own,
        t.asked || t.answered || t.null,
    ensures
        !shows_spec(Intent::Fork, t), // FAILS
{
}

} // verus!
