// REJECTED. Theorem: theorem_only_answers. Changed: what is no answer is hidden. Expected: postcondition: a question is hidden, and LangGraph forgets what it was asked.
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
        _ => Show::Hide, // CHANGED from: _ => Show::Keep,
    }
}

pub open spec fn view_spec(ws: Seq<Write>, intent: Intent, answered: Seq<u32>, alone: bool) -> Seq<Show> {
    Seq::new(ws.len(), |i: int| show_at(ws, intent, answered, alone, i))
}

/// THEOREM only-answers-are-hidden: nothing but a recorded answer is ever hidden, whatever the intent.
pub proof fn theorem_only_answers(ws: Seq<Write>, intent: Intent, answered: Seq<u32>, alone: bool, i: int)
    requires
        0 <= i < ws.len(),
        ws[i].class != Class::Resume,
    ensures
        view_spec(ws, intent, answered, alone)[i] == Show::Keep, // FAILS
{
}

} // verus!
