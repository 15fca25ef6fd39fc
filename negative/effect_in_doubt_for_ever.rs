// REJECTED. Theorem: theorem_effect_is_not_stuck (live). Changed: what is in doubt is not fired again, whatever the user asks. Expected: postcondition: an effect whose owner is gone is never had again.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/claim.rs"]
mod claim;
#[path = "../proof/claim_spec.rs"]
mod claim_spec;
#[path = "../proof/claim_system.rs"]
mod claim_system;
#[path = "../crates/remit-core/src/effect.rs"]
mod effect;
#[path = "../proof/effect_spec.rs"]
mod effect_spec;
#[path = "../proof/effect_system.rs"]
mod effect_system;

use effect::*;
use effect_spec::*;
use effect_system::*;
use vstd::prelude::*;

verus! {

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
                                Doubt::Retry => (e, Verdict::InDoubt { fence }), // CHANGED from: Doubt::Retry => admit_spec(e, now, lease),
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

/// The store takes a request.
pub open spec fn asked(r: Row, c: u64, i: Input) -> Row {
    let d = decide_spec(r.effect, i);
    if d.1 is Fresh {
        Row {
            effect: d.0,
            result: r.result,
            admissions: passed_over(r, i).push(Admission { owner: c, fired: None, overruled: false }),
        }
    } else {
        Row { effect: d.0, ..r }
    }
}

pub open spec fn ask(w: World, q: Request) -> World {
    let i = input_of(w, q);
    let w2 = set_row(w, q.name, asked(row(w, q.name), q.caller, i));
    match decide_spec(row(w, q.name).effect, i).1 {
        Verdict::Fresh { fence, until: _ } =>
            if q.heard { set_belief(w2, q.caller, Belief::Admitted { name: q.name, fence }) } else { w2 },
        _ => w2,
    }
}

/// The request is granted, and the caller has the effect in hand.
pub open spec fn is_admitted(w: World, q: Request) -> bool {
    let w2 = ask(w, q);
    &&& enabled(w, Step::Ask { request: q })
    &&& carries(w2, q.caller, q.name, row(w2, q.name).effect.last)
    &&& enabled(w2, Step::Fire { caller: q.caller, value: 0 })
}

/// (5) No stuck state: an effect that is not done is had by a caller with a claim: at once if it is free, by the user's
/// wish if its owner is gone ...
pub proof fn theorem_effect_is_not_stuck(w: World, q: Request)
    requires
        inv(w),
        belief(w, q.caller) is Idle,
        holds_claim(w, q),
        q.now <= w.claims.now,
        q.same && q.heard,
        row(w, q.name).effect.last < u64::MAX,
    ensures
        row(w, q.name).effect.state is Free ==> is_admitted(w, q),
        row(w, q.name).effect.state is Admitted && q.owner == Owner::Gone && q.doubt == Doubt::Retry ==> is_admitted(w, q), // FAILS
{
    let r = row(w, q.name);
    assert(row_inv(r));
    let y = asked(r, q.caller, input_of(w, q));
    if decide_spec(r.effect, input_of(w, q)).1 is Fresh {
        let w2 = ask(w, q);
        assert(row(w2, q.name) == y);
        assert(belief(w2, q.caller) == (Belief::Admitted { name: q.name, fence: y.effect.last }));
        assert(y.admissions[y.effect.last - 1].fired is None);
    }
}

} // verus!
