// REJECTED. Theorem: theorem_partial_is_not_shown (PC). Changed: stock LangGraph: what a task had written before it failed is shown, and it counts as finished. Expected: postcondition: a partial output is shown.
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
        Intent::Fork => t.own || (!t.null && !t.asked && !t.answered && !partial(t)),
        _ => true, // CHANGED from: _ => t.null || !partial(t),
    }
}

/// THEOREM partial: what a task had written before it failed is not run on with.
pub proof fn theorem_partial_is_not_shown(intent: Intent, t: Task)
    requires
        partial(t),
        !t.null,
        intent != Intent::Inspect,
        intent != Intent::Fork || !t.own,
    ensures
        !shows_spec(intent, t), // FAILS
{
}

} // verus!
