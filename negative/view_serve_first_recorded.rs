// REJECTED. Theorem: theorem_fork, for theorem_trace (FD). Changed: stock LangGraph: the first recorded answer is served to every fork. Expected: postcondition: the fork's question is not served the fork's own value.
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
        Intent::Fork => Show::Keep, // CHANGED from: Intent::Fork => Show::Hide,
        Intent::NewInput => Show::Hide,
        Intent::Retry => rule_last(false, waits, asked, failed, answers),
        Intent::Answer => rule_last(named, waits, asked, failed, answers),
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
        Intent::Fork => return Show::Keep, // CHANGED from: Intent::Fork => return Show::Hide,
        Intent::NewInput => return Show::Hide,
        Intent::Retry => false,
        Intent::Answer => named,
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

/// A fork's answer is served to the first question of its task.
pub proof fn theorem_fork_own(s: State, own: Supply)
    requires
        inv(s),
        (s.rows.lists)(own.task).len() <= u32::MAX,
        own.nth == 0,
    ensures
        served(s.rows, Intent::Fork, own, 0) == own, // FAILS
{
    assert(inv_list(s, own.task));
}

} // verus!
