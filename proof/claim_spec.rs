//! The consume claim: the specification of the shipped `decide`, and the properties of one step.
use super::claim::*;
use vstd::prelude::*;

verus! {

// ---------------------------------------------------------------------------------------------
// Fields: `c.state->Held_owner`. The verifier makes these itself for types that are declared inside `verus!`.
// ---------------------------------------------------------------------------------------------

#[allow(non_snake_case)]
impl State {
    #[verifier::inline]
    pub open spec fn arrow_Held_owner(self) -> u64 {
        get_variant_field(self, "Held", "owner")
    }

    #[verifier::inline]
    pub open spec fn arrow_Held_fence(self) -> u64 {
        get_variant_field(self, "Held", "fence")
    }

    #[verifier::inline]
    pub open spec fn arrow_Held_lease_end(self) -> u64 {
        get_variant_field(self, "Held", "lease_end")
    }

    #[verifier::inline]
    pub open spec fn arrow_Consumed_fence(self) -> u64 {
        get_variant_field(self, "Consumed", "fence")
    }
}

#[allow(non_snake_case)]
impl Input {
    #[verifier::inline]
    pub open spec fn arrow_Acquire_now(self) -> u64 {
        get_variant_field(self, "Acquire", "now")
    }
}

#[allow(non_snake_case)]
impl Verdict {
    #[verifier::inline]
    pub open spec fn arrow_Granted_fence(self) -> u64 {
        get_variant_field(self, "Granted", "fence")
    }

    #[verifier::inline]
    pub open spec fn arrow_AlreadyConsumed_fence(self) -> u64 {
        get_variant_field(self, "AlreadyConsumed", "fence")
    }
}

// ---------------------------------------------------------------------------------------------
// Functional specification
// ---------------------------------------------------------------------------------------------

pub open spec fn fresh_spec() -> Claim {
    Claim { state: State::Free, last: 0 }
}

pub open spec fn lease_end_spec(now: u64, lease: u64) -> u64 {
    if now + lease > u64::MAX { u64::MAX } else { (now + lease) as u64 }
}

pub open spec fn standing_spec(c: Claim, owner: u64, fence: u64) -> Standing {
    match c.state {
        State::Consumed { fence: f } => Standing::Settled { fence: f },
        State::Held { owner: o, fence: f, lease_end: _ } =>
            if fence == f {
                if owner == o { Standing::Current } else { Standing::Unknown }
            } else if 1 <= fence && fence <= c.last { Standing::Over } else { Standing::Unknown },
        State::Free =>
            if 1 <= fence && fence <= c.last { Standing::Over } else { Standing::Unknown },
    }
}

pub open spec fn grantable(c: Claim, now: u64) -> bool {
    match c.state {
        State::Free => true,
        State::Held { owner: _, fence: _, lease_end } => now >= lease_end,
        State::Consumed { fence: _ } => false,
    }
}

pub open spec fn refusal(s: Standing) -> Verdict {
    match s {
        Standing::Settled { fence } => Verdict::AlreadyConsumed { fence },
        Standing::Over => Verdict::Stale,
        _ => Verdict::Illegal,
    }
}

pub open spec fn next(c: Claim, i: Input) -> (Claim, Verdict) {
    match i {
        Input::Acquire { owner, now, lease } =>
            if grantable(c, now) {
                if c.last == u64::MAX { (c, Verdict::Illegal) } else {
                    let fence = (c.last + 1) as u64;
                    let lease_end = lease_end_spec(now, lease);
                    (Claim { state: State::Held { owner, fence, lease_end }, last: fence },
                        Verdict::Granted { fence, lease_end })
                }
            } else {
                match c.state {
                    State::Held { owner: o, fence, lease_end } =>
                        (c, Verdict::Refused { holder: o, fence, lease_end }),
                    State::Consumed { fence } => (c, Verdict::AlreadyConsumed { fence }),
                    State::Free => (c, Verdict::Illegal),
                }
            },
        Input::Renew { owner, fence, now, lease } =>
            match (standing_spec(c, owner, fence), c.state) {
                (Standing::Current, State::Held { owner: o, fence: f, lease_end: old }) => {
                    let wanted = lease_end_spec(now, lease);
                    let lease_end = if wanted > old { wanted } else { old };
                    (Claim { state: State::Held { owner: o, fence: f, lease_end }, last: c.last },
                        Verdict::Renewed { lease_end })
                },
                (s, _) => (c, refusal(s)),
            },
        Input::Consume { owner, fence } =>
            match standing_spec(c, owner, fence) {
                Standing::Current =>
                    (Claim { state: State::Consumed { fence }, last: c.last }, Verdict::Accepted),
                s => (c, refusal(s)),
            },
        Input::Release { owner, fence, why: _ } =>
            match standing_spec(c, owner, fence) {
                Standing::Current => (Claim { state: State::Free, last: c.last }, Verdict::Accepted),
                s => (c, refusal(s)),
            },
        Input::DeclareDead { owner, fence } =>
            match standing_spec(c, owner, fence) {
                Standing::Current => (Claim { state: State::Free, last: c.last }, Verdict::Accepted),
                s => (c, refusal(s)),
            },
    }
}

/// What the store is told when the run ends.
pub open spec fn word_spec(owner: u64, fence: u64, fate: Fate) -> Input {
    match fate {
        Fate::Put => Input::Consume { owner, fence },
        Fate::ParkedAgain { answered: true } => Input::Consume { owner, fence },
        Fate::ParkedAgain { answered: false } => Input::Release { owner, fence, why: Why::ParkedAgain },
        Fate::Failed => Input::Release { owner, fence, why: Why::Failed },
        Fate::Gone => Input::Release { owner, fence, why: Why::Abandoned },
    }
}

// ---------------------------------------------------------------------------------------------
// Properties of one step
// ---------------------------------------------------------------------------------------------

pub open spec fn wf(c: Claim) -> bool {
    match c.state {
        State::Free => true,
        State::Held { owner: _, fence, lease_end: _ } => fence == c.last && 1 <= fence,
        State::Consumed { fence } => fence == c.last && 1 <= fence,
    }
}

pub open spec fn holds(c: Claim, owner: u64, fence: u64) -> bool {
    match c.state {
        State::Held { owner: o, fence: f, lease_end: _ } => o == owner && f == fence,
        _ => false,
    }
}

/// (owner, fence) of an input that speaks for a grant.
pub open spec fn speaks_for(i: Input, owner: u64, fence: u64) -> bool {
    match i {
        Input::Acquire { owner: _, now: _, lease: _ } => false,
        Input::Renew { owner: o, fence: f, now: _, lease: _ } => o == owner && f == fence,
        Input::Consume { owner: o, fence: f } => o == owner && f == fence,
        Input::Release { owner: o, fence: f, why: _ } => o == owner && f == fence,
        Input::DeclareDead { owner: o, fence: f } => o == owner && f == fence,
    }
}

/// Shape is kept, the fence counter never goes back, and it moves exactly on a grant.
pub proof fn step_shape(c: Claim, i: Input)
    requires
        wf(c),
    ensures
        wf(next(c, i).0),
        next(c, i).0.last >= c.last,
        next(c, i).0.last == c.last + 1 <==> next(c, i).1 is Granted,
        next(c, i).0.last == c.last <==> !(next(c, i).1 is Granted),
        next(c, i).1 is Granted ==> next(c, i).1->Granted_fence == c.last + 1,
{
}

/// Consumed is terminal: no input moves it, whoever sends it.
pub proof fn step_consumed_terminal(c: Claim, i: Input)
    requires
        c.state is Consumed,
    ensures
        next(c, i).0 == c,
        next(c, i).1 == (Verdict::AlreadyConsumed { fence: c.state->Consumed_fence }),
{
}

/// Whoever does not speak for the current grant changes nothing, except by a lawful Acquire.
pub proof fn step_stranger_changes_nothing(c: Claim, i: Input)
    requires
        !(i is Acquire),
        forall|o: u64, f: u64| holds(c, o, f) ==> !speaks_for(i, o, f),
    ensures
        next(c, i).0 == c,
        next(c, i).1 is Stale || next(c, i).1 is Illegal || next(c, i).1 is AlreadyConsumed,
{
    match i {
        Input::Acquire { owner, now, lease } => {},
        Input::Renew { owner, fence, now, lease } => {
            assert(speaks_for(i, owner, fence));
            assert(!holds(c, owner, fence));
        },
        Input::Consume { owner, fence } => {
            assert(speaks_for(i, owner, fence));
            assert(!holds(c, owner, fence));
        },
        Input::Release { owner, fence, why } => {
            assert(speaks_for(i, owner, fence));
            assert(!holds(c, owner, fence));
        },
        Input::DeclareDead { owner, fence } => {
            assert(speaks_for(i, owner, fence));
            assert(!holds(c, owner, fence));
        },
    }
}

/// A live lease is not taken: before its end only its own grant's words move it.
pub proof fn step_live_lease_is_kept(c: Claim, i: Input)
    requires
        c.state is Held,
        i is Acquire,
        i->Acquire_now < c.state->Held_lease_end,
    ensures
        next(c, i).0 == c,
        next(c, i).1 == (Verdict::Refused {
            holder: c.state->Held_owner,
            fence: c.state->Held_fence,
            lease_end: c.state->Held_lease_end,
        }),
{
}

/// After a takeover the old fence is over: its consumption is refused as stale.
pub proof fn step_old_fence_is_stale(c: Claim, owner: u64, fence: u64)
    requires
        wf(c),
        !(c.state is Consumed),
        1 <= fence < c.last,
    ensures
        next(c, Input::Consume { owner, fence }) == (c, Verdict::Stale),
        standing_spec(c, owner, fence) is Over,
{
}

/// Not stuck, in words of the function: Acquire is granted when the claim is free, when the
/// lease has run out, after a death, and after any release; and the grantee can consume.
pub proof fn step_not_stuck(c: Claim, owner: u64, now: u64, lease: u64, why: Why)
    requires
        wf(c),
        !(c.state is Consumed),
        c.last < u64::MAX,
    ensures
        c.state is Free ==> next(c, Input::Acquire { owner, now, lease }).1 is Granted,
        c.state is Held && now >= c.state->Held_lease_end ==> next(
            c,
            Input::Acquire { owner, now, lease },
        ).1 is Granted,
        c.state is Held ==> {
            let o = c.state->Held_owner;
            let f = c.state->Held_fence;
            let dead = next(c, Input::DeclareDead { owner: o, fence: f });
            let back = next(c, Input::Release { owner: o, fence: f, why });
            &&& dead.1 is Accepted
            &&& back.1 is Accepted
            &&& next(dead.0, Input::Acquire { owner, now, lease }).1 is Granted
            &&& next(back.0, Input::Acquire { owner, now, lease }).1 is Granted
        },
        ({
            let g = next(c, Input::Acquire { owner, now, lease });
            g.1 is Granted ==> {
                &&& holds(g.0, owner, g.1->Granted_fence)
                &&& next(g.0, Input::Consume { owner, fence: g.1->Granted_fence }).1 is Accepted
            }
        }),
{
}

} // verus!
