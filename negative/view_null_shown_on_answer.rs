// REJECTED. Theorem: theorem_serve, on which theorem_trace rests. Changed: an answer by name is shown an older bare answer too ("the head is unchanged unless a task failed"). Expected: postcondition: the next question is served the older answer.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/view.rs"]
pub mod view;
#[path = "../proof/view_spec.rs"]
pub mod view_spec;

use view::{Intent, Question, Show};
use view_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn rule_null(intent: Intent, alone: bool, about: Option<Question>, asked: Option<usize>, answers: usize) -> Show {
    let open = about is Some && asked == Some(about->0.nth) && answers >= about->0.nth;
    match intent {
        Intent::Inspect => Show::Keep,
        Intent::Retry => if alone && open {
            Show::Keep
        } else {
            Show::Hide
        },
        Intent::Fork => Show::Hide,
        Intent::Answer => Show::Keep, // CHANGED from: Intent::Answer => Show::Hide,
        Intent::NewInput => Show::Hide,
        Intent::Unknown => Show::Hide,
    }
}

} // verus!

#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == rule_null(intent, alone, about, asked, answers),
))]
pub fn show_null(
    intent: Intent,
    alone: bool,
    about: Option<Question>,
    asked: Option<usize>,
    answers: usize,
) -> Show {
    let open = match asked {
        Some(nth) => match about {
            Some(q) => q.nth == nth && answers >= nth,
            None => false,
        },
        None => false,
    };
    match intent {
        Intent::Inspect => Show::Keep,
        Intent::Retry => {
            if alone && open {
                Show::Keep
            } else {
                Show::Hide
            }
        }
        Intent::Fork => Show::Hide,
        Intent::Answer => Show::Keep, // CHANGED from: Intent::Answer => Show::Hide,
        Intent::NewInput => Show::Hide,
        Intent::Unknown => Show::Hide,
    }
}

verus! {

/// The null task's answer, where a call of this intent is shown it.
pub open spec fn served(rows: Rows, intent: Intent) -> Option<Supply> {
    let n = rows.null->0;
    let about = if rows.fresh {
        Some(Question { task: n.task, nth: n.nth as usize })
    } else {
        None
    };
    let asked = match (rows.asked)(n.task) {
        Some(q) => if rows.fresh { Some(q as usize) } else { None },
        None => None,
    };
    let answers = if rows.fresh {
        (rows.lists)(n.task).len() as usize
    } else {
        0
    };
    if rows.null is Some && rule_null(intent, true, about, asked, answers) == Show::Keep {
        rows.null
    } else {
        None
    }
}

pub open spec fn small(rows: Rows, t: u32) -> bool {
    &&& (rows.lists)(t).len() <= u32::MAX
    &&& (rows.asked)(t) is Some ==> (rows.asked)(t)->0 <= u32::MAX
    &&& rows.null is Some ==> rows.null->0.nth <= u32::MAX
}

/// The call answers a task's open question by name. Its next question takes the null task's answer, if that is
/// shown: it must be that question's own.
pub proof fn theorem_next_own(s: State, answer: Supply)
    requires
        inv(s),
        (s.rows.asked)(answer.task) == Some(answer.nth),
        s.rows.fresh ==> s.rows.null->0.task == answer.task,
    ensures
        served(s.rows, Intent::Answer) is Some ==> own(served(s.rows, Intent::Answer)->0, answer.task, answer.nth as int + 1), // FAILS
{
    assert(inv_list(s, answer.task));
}

} // verus!
