//! The durable effect: the specification of the shipped `decide`, and the properties of one step.
use super::claim_spec;
use super::effect::*;
use vstd::prelude::*;

verus! {

// ---------------------------------------------------------------------------------------------
// Functional specification
// ---------------------------------------------------------------------------------------------

pub open spec fn fresh_spec() -> Effect {
    Effect { state: State::Free, last: 0 }
}

/// Admitted, and nobody is there to say what became of it.
pub open spec fn in_doubt(e: Effect, owner: Owner, now: u64) -> bool {
    match e.state {
        State::Admitted { fence: _, until } => match owner {
            Owner::Alive => false,
            Owner::Gone => true,
            Owner::Unknown => now >= until,
        },
        _ => false,
    }
}

/// The admission with this fence is not settled yet.
pub open spec fn open_at(e: Effect, fence: u64) -> bool {
    match e.state {
        State::Admitted { fence: f, until: _ } => f == fence,
        _ => false,
    }
}

pub open spec fn admit_spec(e: Effect, now: u64, lease: u64) -> (Effect, Verdict) {
    if e.last == u64::MAX {
        (e, Verdict::Illegal)
    } else {
        let fence = (e.last + 1) as u64;
        let until = claim_spec::lease_end_spec(now, lease);
        (Effect { state: State::Admitted { fence, until }, last: fence }, Verdict::Fresh { fence, until })
    }
}

pub open spec fn settle_spec(e: Effect, fence: u64, fired: bool) -> (Effect, Verdict) {
    if open_at(e, fence) {
        (Effect { state: if fired { State::Done { fence } } else { State::Free }, last: e.last }, Verdict::Accepted)
    } else if 1 <= fence && fence <= e.last {
        (e, Verdict::Stale)
    } else {
        (e, Verdict::Illegal)
    }
}

pub open spec fn decide_spec(e: Effect, i: Input) -> (Effect, Verdict) {
    match i {
        Input::Admit { now, lease, holds, same, owner, doubt } =>
            if !holds {
                (e, Verdict::Fenced)
            } else {
                match e.state {
                    State::Free => admit_spec(e, now, lease),
                    State::Done { fence } =>
                        if same { (e, Verdict::Replay { fence }) } else { (e, Verdict::Mismatch { fence }) },
                    State::Admitted { fence, until: _ } =>
                        if !same {
                            (e, Verdict::Mismatch { fence })
                        } else if !in_doubt(e, owner, now) {
                            (e, Verdict::Racer { fence })
                        } else {
                            match doubt {
                                Doubt::Raise => (e, Verdict::InDoubt { fence }),
                                Doubt::Retry => admit_spec(e, now, lease),
                            }
                        },
                }
            },
        Input::Done { fence } => settle_spec(e, fence, true),
        Input::Release { fence } => settle_spec(e, fence, false),
        Input::Resolve { now, fence, owner, fired } =>
            if open_at(e, fence) && !in_doubt(e, owner, now) {
                (e, Verdict::Racer { fence })
            } else {
                settle_spec(e, fence, fired)
            },
    }
}

// ---------------------------------------------------------------------------------------------
// Properties of one step
// ---------------------------------------------------------------------------------------------

pub open spec fn wf(e: Effect) -> bool {
    match e.state {
        State::Free => true,
        State::Admitted { fence, until: _ } => fence == e.last && 1 <= fence,
        State::Done { fence } => fence == e.last && 1 <= fence,
    }
}

/// The input is the word of this admission's owner, or a person's on it.
pub open spec fn speaks_of(i: Input, fence: u64) -> bool {
    match i {
        Input::Admit { now: _, lease: _, holds: _, same: _, owner: _, doubt: _ } => false,
        Input::Done { fence: f } => f == fence,
        Input::Release { fence: f } => f == fence,
        Input::Resolve { now: _, fence: f, owner: _, fired: _ } => f == fence,
    }
}

/// The shape is kept, the fence never goes back, and it moves exactly on an admission.
pub proof fn step_shape(e: Effect, i: Input)
    requires
        wf(e),
    ensures
        wf(decide_spec(e, i).0),
        decide_spec(e, i).0.last >= e.last,
        decide_spec(e, i).0.last == e.last + 1 <==> decide_spec(e, i).1 is Fresh,
        decide_spec(e, i).0.last == e.last <==> !(decide_spec(e, i).1 is Fresh),
{
}

/// Done is for good, whoever says what.
pub proof fn step_done_is_for_good(e: Effect, i: Input)
    requires
        e.state is Done,
    ensures
        decide_spec(e, i).0 == e,
        !(decide_spec(e, i).1 is Fresh) && !(decide_spec(e, i).1 is Accepted),
{
}

/// Who no longer holds the claim changes nothing, and is told so.
pub proof fn step_without_the_claim(e: Effect, now: u64, lease: u64, same: bool, owner: Owner, doubt: Doubt)
    ensures
        decide_spec(e, Input::Admit { now, lease, holds: false, same, owner, doubt }) == (e, Verdict::Fenced),
{
}

/// A word on another admission than the one that is not settled changes nothing.
pub proof fn step_late_word(e: Effect, i: Input, fence: u64)
    requires
        speaks_of(i, fence),
        !open_at(e, fence),
    ensures
        decide_spec(e, i).0 == e,
        decide_spec(e, i).1 is Stale || decide_spec(e, i).1 is Illegal,
{
}

/// What is admitted is admitted again only by the user's wish, while it is in doubt.
pub proof fn step_admitted_again_by_wish(e: Effect, now: u64, lease: u64, holds: bool, same: bool, owner: Owner, doubt: Doubt)
    requires
        e.state is Admitted,
        decide_spec(e, Input::Admit { now, lease, holds, same, owner, doubt }).1 is Fresh,
    ensures
        holds && same && doubt == Doubt::Retry && in_doubt(e, owner, now),
{
}

/// Not stuck: a free effect is admitted to who holds the claim; one that is in doubt can be fired again or settled.
pub proof fn step_not_stuck(e: Effect, fence: u64, now: u64, lease: u64, owner: Owner, doubt: Doubt, fired: bool)
    requires
        wf(e),
        e.last < u64::MAX,
    ensures
        e.state is Free ==> decide_spec(e, Input::Admit { now, lease, holds: true, same: true, owner, doubt }).1 is Fresh,
        in_doubt(e, owner, now) ==> decide_spec(
            e,
            Input::Admit { now, lease, holds: true, same: true, owner, doubt: Doubt::Retry },
        ).1 is Fresh,
        in_doubt(e, owner, now) && open_at(e, fence) ==> decide_spec(
            e,
            Input::Resolve { now, fence, owner, fired },
        ).1 is Accepted,
{
}

} // verus!
