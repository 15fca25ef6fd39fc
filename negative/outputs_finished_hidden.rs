// REJECTED. Theorem: theorem_finished_is_shown (PC). Changed: stock LangGraph: a fork runs a finished sibling again. Expected: postcondition: a finished task is not shown.
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
        Intent::Fork => t.own, // CHANGED from: Intent::Fork => t.own || (!t.null && !t.asked && !t.answered && !partial(t)),
        _ => t.null || !partial(t),
    }
}

/// THEOREM finished: a finished task that asked nothing is not run again, by whatever call.
pub proof fn theorem_finished_is_shown(intent: Intent, t: Task)
    requires
        !partial(t),
        !t.null && !t.asked && !t.answered,
    ensures
        shows_spec(intent, t), // FAILS
{
}

} // verus!
