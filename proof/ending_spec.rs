//! The end of a run: the rules, and what they promise.
use super::claim::*;
use super::claim_spec::*;
use super::ending::*;
use vstd::prelude::*;

verus! {

/// The task recorded an answer to what the claim is on, and goes on from there when it runs again.
pub open spec fn is_past(t: Outcome) -> bool {
    t.answered && !t.failed
}

/// The task is not done well.
pub open spec fn is_stuck(t: Outcome) -> bool {
    t.failed || t.parked
}

pub open spec fn fate_spec(ts: Seq<Outcome>) -> Fate {
    if exists|i: int| 0 <= i < ts.len() && is_past(#[trigger] ts[i]) {
        Fate::ParkedAgain { answered: true }
    } else if exists|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).failed {
        Fate::Failed
    } else if exists|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).parked {
        Fate::ParkedAgain { answered: false }
    } else {
        Fate::Gone
    }
}

pub open spec fn is_over_spec(triggered: u64, ts: Seq<Outcome>) -> bool {
    &&& triggered > 0
    &&& ts.len() >= triggered
    &&& exists|i: int| 0 <= i < ts.len() && is_stuck(#[trigger] ts[i])
}

pub open spec fn is_present_spec(fence: u64, p: Position) -> bool {
    fence == 1 && (p.is_new || (p.asks && p.tasks == 1 && p.is_untouched))
}

/// THEOREM recorded: an answer that was recorded is not taken again.
pub proof fn theorem_recorded_consumes(ts: Seq<Outcome>, i: int, owner: u64, fence: u64)
    requires
        0 <= i < ts.len(),
        is_past(ts[i]),
    ensures
        word_spec(owner, fence, fate_spec(ts)) == (Input::Consume { owner, fence }),
{
}

/// THEOREM live: an authority of which nobody recorded anything is given back.
pub proof fn theorem_unrecorded_frees(ts: Seq<Outcome>, owner: u64, fence: u64)
    requires
        forall|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).answered ==> ts[i].failed,
    ensures
        word_spec(owner, fence, fate_spec(ts)) is Release,
{
}

/// THEOREM over: where a run is taken for over, something of it is heard: a question or a failure.
pub proof fn theorem_over_is_heard(triggered: u64, ts: Seq<Outcome>)
    requires
        is_over_spec(triggered, ts),
    ensures
        !(fate_spec(ts) is Gone),
{
}

/// THEOREM present: a grant after another one is never taken for the first look.
pub proof fn theorem_later_grants_look_again(fence: u64, p: Position)
    requires
        fence != 1,
    ensures
        !is_present_spec(fence, p),
{
}

} // verus!
