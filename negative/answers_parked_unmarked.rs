// REJECTED. Theorem: theorem_parked_question_is_known (FD). Changed: a task that failed before and parks at its first question leaves no mark. Expected: postcondition: which question is open is not known.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/answers.rs"]
mod answers;
#[path = "../proof/answers_spec.rs"]
mod answers_spec;
#[path = "../crates/remit-core/src/view.rs"]
mod view;
#[path = "../proof/view_spec.rs"]
mod view_spec;

use answers::*;
use answers_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn store_parked(given: Option<usize>, recorded: usize, failed: bool) -> Storage {
    let n = answered_by(given);
    Storage {
        keep: if given is Some || recorded > 0 { Some(n) } else { None },
        restore: false,
        waits_for: None,
        marks: if n > 0 { Some(n) } else { None }, // CHANGED from: marks: if failed || n > 0 { Some(n) } else { None },
        drops_output: false,
    }
}

pub open spec fn store_spec(batch: Batch, given: Option<usize>, recorded: usize, marked: bool, failed: bool) -> Storage {
    match batch {
        Batch::Parked => store_parked(given, recorded, failed),
        Batch::Failed => store_failed(given, recorded, marked, failed),
        Batch::Other => Storage { keep: given, restore: false, waits_for: None, marks: None, drops_output: false },
    }
}

/// THEOREM parked: after a task parks, its open question is known, and it is the one that its batch answered up to.
pub proof fn theorem_parked_question_is_known(given: Option<usize>, recorded: usize, marked: bool, failed: bool)
    ensures
        list_after(store_spec(Batch::Parked, given, recorded, marked, failed), recorded) == answered_by(given),
        known_after(store_spec(Batch::Parked, given, recorded, marked, failed), recorded, failed), // FAILS
{
}

} // verus!
