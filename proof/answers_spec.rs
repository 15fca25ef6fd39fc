//! Answers: how a batch is stored, and that the open question stays known.
use super::answers::*;
use super::view_spec::*;
use vstd::prelude::*;

verus! {

/// A stock saver stored the list: its last answer counts as the open question's.
pub open spec fn blurred(recorded: usize, marked: bool, failed: bool) -> bool {
    failed && !marked && recorded > 0
}

/// How many answers are to earlier questions.
pub open spec fn earlier(recorded: usize, marked: bool, failed: bool) -> usize {
    if blurred(recorded, marked, failed) {
        (recorded - 1) as usize
    } else {
        recorded
    }
}

/// How many questions the batch of a task that parks answers: the next one is open.
pub open spec fn answered_by(given: Option<usize>) -> usize {
    if given is Some {
        given->0
    } else {
        0
    }
}

pub open spec fn store_parked(given: Option<usize>, recorded: usize, failed: bool) -> Storage {
    let n = answered_by(given);
    Storage {
        keep: if given is Some || recorded > 0 { Some(n) } else { None },
        restore: false,
        waits_for: None,
        marks: if failed || n > 0 { Some(n) } else { None },
        drops_output: false,
    }
}

pub open spec fn store_failed(given: Option<usize>, recorded: usize, marked: bool, failed: bool) -> Storage {
    let before = earlier(recorded, marked, failed);
    if given is Some && given->0 > before {
        let last = (given->0 - 1) as usize;
        Storage { keep: Some(last), restore: false, waits_for: Some(last), marks: None, drops_output: true }
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

pub open spec fn open_question_spec(parked: bool, failed: bool, marked: bool, recorded: usize) -> Option<usize> {
    if parked && (marked || !failed) {
        Some(recorded)
    } else {
        None
    }
}

pub open spec fn binds_to_spec(parked: bool, failed: bool, marked: bool, recorded: usize) -> Option<(usize, bool)> {
    let open = open_question_spec(parked, failed, marked, recorded);
    if open is Some && reaches(open, recorded) {
        Some((open->0, false))
    } else if open is None && parked && failed && recorded > 0 {
        Some(((recorded - 1) as usize, true))
    } else {
        None
    }
}

/// The length of the task's own list once a batch is stored.
pub open spec fn list_after(s: Storage, recorded: usize) -> usize {
    if s.keep is Some {
        s.keep->0
    } else {
        recorded
    }
}

/// The open question is known, and if its state is marked, at its own row.
pub open spec fn known_after(s: Storage, recorded: usize, failed: bool) -> bool {
    let list = list_after(s, recorded);
    open_question_spec(true, failed, s.marks is Some, list) == Some(list) && (s.marks is Some ==> s.marks->0 == list)
}

/// THEOREM parked: after a task parks, its open question is known, and it is the one that its batch answered up to.
pub proof fn theorem_parked_question_is_known(given: Option<usize>, recorded: usize, marked: bool, failed: bool)
    ensures
        list_after(store_spec(Batch::Parked, given, recorded, marked, failed), recorded) == answered_by(given),
        known_after(store_spec(Batch::Parked, given, recorded, marked, failed), recorded, failed),
{
}

/// The list names the open question, and that question has a waiting row, if an empty one.
pub open spec fn marked_after(s: Storage, recorded: usize, marked: bool) -> bool {
    let list = list_after(s, recorded);
    s.waits_for == Some(list) || s.marks == Some(list) || (marked && list == recorded)
}

/// THEOREM failed: after a task fails, its list names the open question and that question has a row of its own; no
/// earlier answer is gone, and the task has no output.
pub proof fn theorem_failed_question_is_known(given: Option<usize>, recorded: usize, marked: bool, failed: bool)
    ensures
        marked_after(store_spec(Batch::Failed, given, recorded, marked, failed), recorded, marked),
        list_after(store_spec(Batch::Failed, given, recorded, marked, failed), recorded) >= earlier(
            recorded,
            marked,
            failed,
        ),
        store_spec(Batch::Failed, given, recorded, marked, failed).drops_output,
{
}

/// THEOREM bound: a bare answer is bound to the open question if that is known, else to the last one that a stock
/// saver has an answer of, whose place it takes.
pub proof fn theorem_bound_to_the_open_question(parked: bool, failed: bool, marked: bool, recorded: usize)
    ensures
        ({
            let open = open_question_spec(parked, failed, marked, recorded);
            let bound = binds_to_spec(parked, failed, marked, recorded);
            &&& open is Some ==> bound == Some((open->0, false))
            &&& open is None && bound is Some ==> bound == Some(((recorded - 1) as usize, true))
            &&& !parked ==> bound is None
        }),
{
}

} // verus!
