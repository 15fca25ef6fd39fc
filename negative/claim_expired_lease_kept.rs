// REJECTED. Theorem: step_not_stuck, for theorem_not_stuck (live). Changed: a claim whose lease has run out is not taken over. Expected: postcondition: a holder that is gone keeps the authority for ever.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/claim.rs"]
mod claim;
#[path = "../proof/claim_spec.rs"]
mod claim_spec;

use claim::*;
use claim_spec::*;
use vstd::prelude::*;

verus! {

pub open spec fn grantable(c: Claim, now: u64) -> bool {
    match c.state {
        State::Free => true,
        State::Held { owner: _, fence: _, lease_end } => false, // CHANGED from: State::Held { owner: _, fence: _, lease_end } => now >= lease_end,
        State::Consumed { fence: _ } => false,
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

/// Not stuck, in words of the function: Acquire is granted when the claim is free, when the
/// lease has run out, after a death, and after any release; and the grantee can consume.
pub proof fn step_not_stuck(c: Claim, owner: u64, now: u64, lease: u64, why: Why)
    requires
        wf(c),
        !(c.state is Consumed),
        c.last < u64::MAX,
    ensures
        c.state is Free ==> next(c, Input::Acquire { owner, now, lease }).1 is Granted,
        c.state is Held && now >= c.state->Held_lease_end ==> next( // FAILS
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
