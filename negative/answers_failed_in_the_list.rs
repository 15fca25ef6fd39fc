// REJECTED. Theorem: theorem_failed_question_is_known (FD). Changed: the answer at which a task failed stays in its list too. Expected: postcondition: the list names another question than the waiting row.
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

pub open spec fn store_failed(given: Option<usize>, recorded: usize, marked: bool, failed: bool) -> Storage {
    let before = earlier(recorded, marked, failed);
    if given is Some && given->0 > before {
        let last = (given->0 - 1) as usize;
        Storage { keep: given, restore: false, waits_for: Some(last), marks: None, drops_output: true } // CHANGED from: Storage { keep: Some(last), restore: false, waits_for: Some(last), marks: None, drops_output: true }
    } else if blurred(recorded, marked, failed) {
        Storage { keep: Some(before), restore: true, waits_for: Some(before), marks: None, drops_output: true }
    } else {
        Storage {
            keep: if given is Some { Some(recorded) } else { None },
            restore: true,
            waits_for: None,
            marks: if marked { None } else { Some(recorded) },
            drops_output: true,
        }
    }
}

pub open spec fn store_spec(batch: Batch, given: Option<usize>, recorded: usize, marked: bool, failed: bool) -> Storage {
    match batch {
        Batch::Parked => store_parked(given, recorded, failed),
        Batch::Failed => store_failed(given, recorded, marked, failed),
        Batch::Other => Storage { keep: given, restore: false, waits_for: None, marks: None, drops_output: false },
    }
}

/// THEOREM failed: after a task fails, its list names the open question and that question has a row of its own; no
/// earlier answer is gone, and the task has no output.
pub proof fn theorem_failed_question_is_known(given: Option<usize>, recorded: usize, marked: bool, failed: bool)
    ensures
        marked_after(store_spec(Batch::Failed, given, recorded, marked, failed), recorded, marked), // FAILS
        list_after(store_spec(Batch::Failed, given, recorded, marked, failed), recorded) >= earlier(
            recorded,
            marked,
            failed,
        ),
        store_spec(Batch::Failed, given, recorded, marked, failed).drops_output,
{
}

} // verus!
