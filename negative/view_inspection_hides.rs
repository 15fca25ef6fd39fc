// REJECTED. Theorem: theorem_inspect, for theorem_inspection. Changed: an inspection is shown no recorded answer. Expected: postcondition: a recorded answer is hidden from it.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/view.rs"]
mod view;
#[path = "../proof/view_spec.rs"]
mod view_spec;

use view::*;
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
        Intent::Inspect => Show::Hide, // CHANGED from: Intent::Inspect => Show::Keep,
        Intent::Fork => Show::Hide,
        Intent::NewInput => Show::Hide,
        Intent::Retry => rule_last(false, waits, asked, failed, answers),
        Intent::Answer => rule_last(named, waits, asked, failed, answers),
        Intent::Unknown => rule_last(true, waits, asked, failed, answers),
    }
}

pub open spec fn show_at(ws: Seq<Write>, intent: Intent, answered: Seq<u32>, alone: bool, i: int) -> Show {
    match (ws[i].class, ws[i].slot) {
        (Class::Resume, Slot::Null) => rule_null(
            intent,
            alone,
            ws[i].about,
            if ws[i].about is Some {
                asked_in(ws, ws[i].about->0.task)
            } else {
                None
            },
            if ws[i].about is Some {
                answers_in(ws, ws[i].about->0.task)
            } else {
                0
            },
        ),
        (Class::Resume, Slot::Task(t)) => rule_task(
            intent,
            answered.contains(t),
            waits_in(ws, t),
            asked_in(ws, t),
            failed_in(ws, t),
            ws[i].answers,
        ),
        _ => Show::Keep,
    }
}

pub open spec fn view_spec(ws: Seq<Write>, intent: Intent, answered: Seq<u32>, alone: bool) -> Seq<Show> {
    Seq::new(ws.len(), |i: int| show_at(ws, intent, answered, alone, i))
}

/// THEOREM inspect-shows-all.
pub proof fn theorem_inspect(ws: Seq<Write>, answered: Seq<u32>, alone: bool, i: int)
    requires
        0 <= i < ws.len(),
    ensures
        view_spec(ws, Intent::Inspect, answered, alone)[i] == Show::Keep, // FAILS
{
}

} // verus!
