//! The plan of a retry: the rule, and what it promises.
use super::explain::*;
use vstd::prelude::*;

verus! {

/// What the task put out is durable, or its failure was taken over: nothing of it is left to do.
pub open spec fn is_through(f: Facts) -> bool {
    f.recorded || f.handled
}

pub open spec fn step_spec(f: Facts) -> Step {
    if is_through(f) {
        Step::Skip
    } else if f.parked && !f.answered {
        Step::Ask
    } else {
        Step::Run
    }
}

pub open spec fn why_spec(f: Facts) -> Why {
    if f.recorded {
        Why::Recorded
    } else if f.handled {
        Why::Handled
    } else if f.parked {
        if f.answered { Why::Answered } else { Why::Unanswered }
    } else if f.failed {
        Why::Failed
    } else {
        Why::Nothing
    }
}

pub open spec fn on_retry_spec(f: Facts) -> (Step, Why) {
    (step_spec(f), why_spec(f))
}

/// THEOREM skipped: what is durable is not run again, and nothing else is left out.
pub proof fn theorem_skips_what_is_through(f: Facts)
    ensures
        step_spec(f) == Step::Skip <==> is_through(f),
{
}

/// THEOREM asked: a question is asked again exactly while nobody has answered it.
pub proof fn theorem_asks_what_is_open(f: Facts)
    ensures
        step_spec(f) == Step::Ask <==> !is_through(f) && f.parked && !f.answered,
{
}

/// The reason is a fact of the task's log.
pub open spec fn is_a_fact(f: Facts, why: Why) -> bool {
    match why {
        Why::Recorded => f.recorded,
        Why::Handled => f.handled,
        Why::Unanswered => f.parked && !f.answered,
        Why::Answered => f.parked && f.answered,
        Why::Failed => f.failed,
        Why::Nothing => !f.recorded && !f.handled && !f.parked && !f.failed,
    }
}

/// THEOREM reason: the reason that is told is a fact, and the step follows from it.
pub proof fn theorem_the_reason_is_a_fact(f: Facts)
    ensures
        is_a_fact(f, why_spec(f)),
        step_spec(f) == Step::Skip <==> why_spec(f) == Why::Recorded || why_spec(f) == Why::Handled,
        step_spec(f) == Step::Ask <==> why_spec(f) == Why::Unanswered,
{
}

} // verus!
