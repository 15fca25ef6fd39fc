// REJECTED. Theorem: deliver_accounts, on which theorem_fires_once rests (EO). Changed: a word settles whatever is admitted, not the admission that it names. Expected: postcondition: an admission that has fired is freed by the late word of another.
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

pub open spec fn settle_spec(e: Effect, fence: u64, fired: bool) -> (Effect, Verdict) {
    if e.state is Admitted { // CHANGED from: if open_at(e, fence) {
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

/// The store takes a word on what became of an admission.
pub open spec fn deliver(r: Row, i: Input, value: nat) -> Row {
    let d = decide_spec(r.effect, i);
    if d.1 is Accepted {
        Row {
            effect: d.0,
            result: if d.0.state is Done { Some(value) } else { r.result },
            admissions: match i {
                Input::Resolve { now: _, fence, owner: _, fired: _ } =>
                    r.admissions.update(fence - 1, overrule(r.admissions[fence - 1])),
                _ => r.admissions,
            },
        }
    } else {
        Row { effect: d.0, ..r }
    }
}

proof fn deliver_accounts(r: Row, i: Input, value: nat, j: int)
    requires
        row_inv(r),
        is_true_of(r, i, value),
        0 <= j < deliver(r, i, value).admissions.len(),
    ensures
        accounted(deliver(r, i, value), j), // FAILS
{
    assert(accounted(r, j));
}

} // verus!
