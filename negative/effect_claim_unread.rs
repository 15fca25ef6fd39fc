// REJECTED. Theorem: theorem_fenced (CO-e, EO). Changed: the admission does not look whether the caller still holds its claim. Expected: postcondition: a caller whose claim was taken over is admitted.
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
            if false { // CHANGED from: if !holds {
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

/// (4) Fencing: whoever lost its claim is admitted nowhere ...
pub proof fn theorem_fenced(w: World, q: Request)
    requires
        inv(w),
        q.grant < claim_system::cell(w.claims, q.key).claim.last,
    ensures
        row(ask(w, q), q.name) == row(w, q.name), // FAILS
{
    let x = claim_system::cell(w.claims, q.key);
    assert(claim_system::cell_inv(x, w.claims.now));
    assert(claim_spec::wf(x.claim));
    assert(!claim_spec::holds(x.claim, q.caller, q.grant));
}

} // verus!
