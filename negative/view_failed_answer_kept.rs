// REJECTED. Theorem: theorem_serve, on which theorem_trace rests. Changed: the answer at which the node failed is kept when another answer comes. Expected: postcondition: the question is served the failed answer, not the one that this call gives.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/view.rs"]
pub mod view;
#[path = "../proof/view_spec.rs"]
pub mod view_spec;

use view::{is_reanswered, Intent, Show};
use view_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn rule_task(
    intent: Intent,
    named: bool,
    waits: Option<usize>,
    asked: Option<usize>,
    failed: bool,
    answers: usize,
) -> Show {
    match intent {
        Intent::Inspect => Show::Keep,
        Intent::Fork => Show::Hide,
        Intent::NewInput => Show::Hide,
        Intent::Retry => rule_last(false, waits, asked, failed, answers),
        Intent::Answer => rule_last(false, waits, asked, failed, answers), // CHANGED from: Intent::Answer => rule_last(named, waits, asked, failed, answers),
        Intent::Unknown => rule_last(true, waits, asked, failed, answers),
    }
}

} // verus!

#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == rule_task(intent, named, waits, asked, failed, answers),
))]
pub fn show_task(
    intent: Intent,
    named: bool,
    waits: Option<usize>,
    asked: Option<usize>,
    failed: bool,
    answers: usize,
) -> Show {
    let replaced = match intent {
        Intent::Inspect => return Show::Keep,
        Intent::Fork => return Show::Hide,
        Intent::NewInput => return Show::Hide,
        Intent::Retry => false,
        Intent::Answer => false, // CHANGED from: Intent::Answer => named,
        Intent::Unknown => true,
    };
    let stale = waits.is_some() && is_reanswered(waits, false, answers);
    if stale || (replaced && is_reanswered(asked, failed, answers)) {
        if answers == 1 {
            Show::Hide
        } else {
            Show::AllButLast
        }
    } else {
        Show::Keep
    }
}

verus! {

/// What the loop is shown of a task's recorded answers, by the rule of this file.
pub open spec fn shown(rows: Rows, intent: Intent, named: bool, t: u32) -> Seq<Supply> {
    let list = (rows.lists)(t);
    let asked = match (rows.asked)(t) {
        Some(q) => Some(q as usize),
        None => None,
    };
    let waits = if rows.fresh && rows.null->0.task == t {
        Some(rows.null->0.nth as usize)
    } else {
        None
    };
    apply(rule_task(intent, named, waits, asked, (rows.failed)(t), list.len() as usize), list)
}

/// What the task is served for its n-th question: what it is shown, then what the call supplied.
pub open spec fn served(rows: Rows, intent: Intent, own: Supply, n: nat) -> Supply {
    shown(rows, intent, true, own.task).push(own)[n as int]
}

/// An answer is served to the question that is open, whatever was recorded for it before.
pub proof fn theorem_answer_own(s: State, own: Supply)
    requires
        inv(s),
        !s.exact,
        !s.rows.fresh,
        (s.rows.lists)(own.task).len() <= u32::MAX,
        (s.rows.asked)(own.task) == Some(own.nth),
    ensures
        served(s.rows, Intent::Answer, own, own.nth) == own, // FAILS
{
    assert(inv_list(s, own.task));
}

} // verus!
