//! How an answer is stored beside the question it answers.
//!
//! LangGraph records a task's answers as one list, without saying which question is open. Two states then look
//! alike: "answer 1 was given and the node failed" and "question 2 is open and a retry failed before question 1".
//! REMIT keeps them apart by construction: the list in a task's own row holds the answers to the *earlier*
//! questions only, so its length names the open question; the answer to the open question, as long as the node
//! has not got past it, lies in a row of its own, the *waiting* row of that question (`ids`).
//! Source: DESIGN 5, fact 4 and fact 18; the drafts' notes, points 1 to 4.

use crate::view::is_reached;

#[cfg(verus_only)]
use super::answers_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// What a batch of writes says about its task.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batch {
    /// The task asked a question.
    Parked,
    /// The task failed, and no error handler takes over.
    Failed,
    /// Anything else: it finished, or an error handler takes over.
    Other,
}

/// How to store a batch.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storage {
    /// The task's own row: how many of the batch's answers it keeps. `None`: the row is not written.
    pub keep: Option<usize>,
    /// What is kept, and what waits, is taken from the list that was loaded, not from the batch's (a shorter one must
    /// not replace it).
    pub restore: bool,
    /// The answer to this question goes to its waiting row.
    pub waits_for: Option<usize>,
    /// An empty waiting row is written for this question, to say that its state is known.
    pub marks: Option<usize>,
    /// Ordinary writes are left out: a failed task has no output.
    pub drops_output: bool,
}

/// How a batch of a task is stored. `given`: the length of the list of answers in the batch, if it has one;
/// `recorded`: the length of the list that was loaded; `marked`: has the question of that number a waiting row;
/// `failed`: had the task failed before. A list of a failed task without a mark was stored by a stock saver, and its
/// last answer counts as the open question's.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == store_spec(batch, given, recorded, marked, failed),
))]
pub fn store(
    batch: Batch,
    given: Option<usize>,
    recorded: usize,
    marked: bool,
    failed: bool,
) -> Storage {
    let blurred = failed && !marked && recorded > 0;
    let earlier = if blurred { recorded - 1 } else { recorded };
    match batch {
        Batch::Parked => Storage {
            keep: match given {
                Some(n) => Some(n),
                // the question is the first one again: an older list must not stand beside it
                None if recorded > 0 => Some(0),
                None => None,
            },
            restore: false,
            waits_for: None,
            // an error stays recorded, so a list without a mark would be blurred; and of a finished task, whose
            // list may be complete, the mark tells which question it was asked last
            marks: match given {
                Some(n) if failed || n > 0 => Some(n),
                None if failed => Some(0),
                _ => None,
            },
            drops_output: false,
        },
        Batch::Failed => match given {
            Some(n) if n > earlier => Storage {
                keep: Some(n - 1),
                restore: false,
                waits_for: Some(n - 1),
                marks: None,
                drops_output: true,
            },
            _ if blurred => Storage {
                keep: Some(earlier),
                restore: true,
                waits_for: Some(earlier),
                marks: None,
                drops_output: true,
            },
            _ => Storage {
                keep: if given.is_some() {
                    Some(recorded)
                } else {
                    None
                },
                restore: true,
                waits_for: None,
                marks: if marked { None } else { Some(recorded) },
                drops_output: true,
            },
        },
        Batch::Other => Storage {
            keep: given,
            restore: false,
            waits_for: None,
            marks: None,
            drops_output: false,
        },
    }
}

/// The question that is open, if it is known: the list's length, when the question of that number has a waiting row
/// (`marked`), or when the task never failed.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == open_question_spec(parked, failed, marked, recorded),
))]
pub fn open_question(parked: bool, failed: bool, marked: bool, recorded: usize) -> Option<usize> {
    if parked && (marked || !failed) {
        Some(recorded)
    } else {
        None
    }
}

/// The question that a bare answer is bound to, and whether it takes its place in the recorded list: the open question
/// if it is known and in reach, whose answers have a row of their own; else, where a stock saver stored a failed
/// task's list, the question that its last answer was for. `None`: it cannot be told.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == binds_to_spec(parked, failed, marked, recorded),
))]
pub fn binds_to(
    parked: bool,
    failed: bool,
    marked: bool,
    recorded: usize,
) -> Option<(usize, bool)> {
    match open_question(parked, failed, marked, recorded) {
        Some(n) => {
            if is_reached(Some(n), recorded) {
                Some((n, false))
            } else {
                None
            }
        }
        None if parked && failed && recorded > 0 => Some((recorded - 1, true)),
        None => None,
    }
}
