//! Outputs: the rule, and what it promises.
use super::outputs::*;
use super::view::Intent;
use vstd::prelude::*;

verus! {

/// What a task had written before it failed; how much is missing is not known.
pub open spec fn partial(t: Task) -> bool {
    t.failed && !t.handled && !t.marked
}

pub open spec fn shows_spec(intent: Intent, t: Task) -> bool {
    match intent {
        Intent::Inspect => true,
        Intent::Fork => t.own || (!t.null && !t.asked && !t.answered && !partial(t)),
        _ => t.null || !partial(t),
    }
}

/// THEOREM looking: an inspection sees all outputs.
pub proof fn theorem_look_shows_all(t: Task)
    ensures
        shows_spec(Intent::Inspect, t),
{
}

/// THEOREM branches: a fork does not see what came of another branch's question or answer, nor another call's input.
pub proof fn theorem_branches_apart(t: Task)
    requires
        !t.own,
        t.asked || t.answered || t.null,
    ensures
        !shows_spec(Intent::Fork, t),
{
}

/// THEOREM partial: what a task had written before it failed is not run on with.
pub proof fn theorem_partial_is_not_shown(intent: Intent, t: Task)
    requires
        partial(t),
        !t.null,
        intent != Intent::Inspect,
        intent != Intent::Fork || !t.own,
    ensures
        !shows_spec(intent, t),
{
}

/// THEOREM finished: a finished task that asked nothing is not run again, by whatever call.
pub proof fn theorem_finished_is_shown(intent: Intent, t: Task)
    requires
        !partial(t),
        !t.null && !t.asked && !t.answered,
    ensures
        shows_spec(intent, t),
{
}

} // verus!
