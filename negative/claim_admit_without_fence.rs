// REJECTED. Theorem: theorem_stale_owner_inert (CO). Changed: the effect's admission does not look at owner and fence. Expected: postcondition: a stale owner's admission changes the row (its effect would run).
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/claim.rs"]
mod claim;
#[path = "../proof/claim_spec.rs"]
mod claim_spec;
#[path = "../proof/claim_system.rs"]
mod claim_system;

use claim::*;
use claim_spec::*;
use claim_system::*;
use vstd::prelude::*;

verus! {

pub open spec fn admission_spec(c: Claim, e: Effect, owner: u64, fence: u64) -> (Effect, Admission) {
    match standing_spec(c, c.state->Held_owner, c.last) { // CHANGED from: match standing_spec(c, owner, fence) {
        Standing::Current => match e {
            Effect::None => (Effect::Admitted { fence }, Admission::Fresh),
            Effect::Admitted { fence: f } => (e, Admission::Already { fence: f }),
        },
        s => (e, Admission::Refused { why: refusal(s) }),
    }
}

pub open spec fn deliver_admission(x: Cell, owner: u64, fence: u64) -> Cell {
    let r = admission_spec(x.claim, x.effect, owner, fence);
    Cell {
        effect: r.0,
        fired: if r.1 is Fresh { x.fired + 1 } else { x.fired },
        ..x
    }
}

pub open spec fn step(w: World, s: Step) -> World {
    match s {
        Step::Tick { to } => World { now: to, ..w },
        Step::Deliver { key, input } => set_cell(w, key, deliver(cell(w, key), input)),
        Step::DeliverAdmit { key, owner, fence } =>
            set_cell(w, key, deliver_admission(cell(w, key), owner, fence)),
        Step::Acquire { worker, key, lease } => {
            let i = Input::Acquire { owner: worker, now: w.now, lease };
            let w2 = set_cell(w, key, deliver(cell(w, key), i));
            match next(cell(w, key).claim, i).1 {
                Verdict::Granted { fence, lease_end: _ } =>
                    set_belief(w2, worker, Belief::Running { key, fence }),
                _ => w2,
            }
        },
        Step::Renew { worker, lease } => match belief(w, worker) {
            Belief::Running { key, fence } => {
                let i = Input::Renew { owner: worker, fence, now: w.now, lease };
                let w2 = set_cell(w, key, deliver(cell(w, key), i));
                if next(cell(w, key).claim, i).1 is Renewed { w2 } else {
                    set_belief(w2, worker, Belief::Idle)
                }
            },
            _ => w,
        },
        Step::Consume { worker } => match belief(w, worker) {
            Belief::Running { key, fence } => {
                let i = Input::Consume { owner: worker, fence };
                set_belief(set_cell(w, key, deliver(cell(w, key), i)), worker, Belief::Idle)
            },
            _ => w,
        },
        Step::Release { worker, why } => match belief(w, worker) {
            Belief::Running { key, fence } => {
                let i = Input::Release { owner: worker, fence, why };
                set_belief(set_cell(w, key, deliver(cell(w, key), i)), worker, Belief::Idle)
            },
            _ => w,
        },
        Step::Admit { worker } => match belief(w, worker) {
            Belief::Running { key, fence } =>
                set_cell(w, key, deliver_admission(cell(w, key), worker, fence)),
            _ => w,
        },
        Step::Stop { worker } => match belief(w, worker) {
            Belief::Running { key, fence } =>
                set_belief(w, worker, Belief::Stopped { key, fence }),
            _ => w,
        },
        Step::Wake { worker } => match belief(w, worker) {
            Belief::Stopped { key, fence } =>
                set_belief(w, worker, Belief::Running { key, fence }),
            _ => w,
        },
        Step::Crash { worker } => set_belief(w, worker, Belief::Idle),
    }
}

pub open spec fn legal(w: World, steps: Seq<Step>) -> bool
    decreases steps.len(),
{
    steps.len() == 0 || (legal(w, steps.drop_last()) && enabled(
        run(w, steps.drop_last()),
        steps.last(),
    ))
}

pub open spec fn run(w: World, steps: Seq<Step>) -> World
    decreases steps.len(),
{
    if steps.len() == 0 { w } else { step(run(w, steps.drop_last()), steps.last()) }
}

/// ... and an owner whose claim was taken over, waking up whenever it likes, changes nothing:
/// its consumption, its release, its renewal and its admission are refused.
pub proof fn theorem_stale_owner_inert(w: World, a: u64, k: Key, f: u64, lease: u64, why: Why)
    requires
        inv(w),
        belief(w, a) == (Belief::Running { key: k, fence: f }),
        f < cell(w, k).claim.last,
    ensures
        cell(step(w, Step::Consume { worker: a }), k) == cell(w, k),
        cell(step(w, Step::Release { worker: a, why }), k) == cell(w, k),
        cell(step(w, Step::Renew { worker: a, lease }), k) == cell(w, k),
        cell(step(w, Step::Admit { worker: a }), k) == cell(w, k), // FAILS
{
    assert(cell_inv(cell(w, k), w.now));
    assert(belief_ok(w, a));
}

} // verus!

// The wrong rule breaks the promise: a run of it, step by step. The twin has no such run.
verus! {

pub open spec fn reached(w: World) -> bool {
    exists|steps: Seq<Step>| #[trigger] legal(init(), steps) && run(init(), steps) == w
}

proof fn from_start() -> (w: World)
    ensures
        w == init(),
        reached(w),
{
    assert(legal(init(), Seq::<Step>::empty()) && run(init(), Seq::<Step>::empty()) == init());
    init()
}

proof fn then(w: World, s: Step) -> (w2: World)
    requires
        reached(w),
        enabled(w, s),
    ensures
        w2 == step(w, s),
        reached(w2),
{
    let steps = choose|steps: Seq<Step>| #[trigger] legal(init(), steps) && run(init(), steps) == w;
    assert(steps.push(s).drop_last() =~= steps);
    assert(legal(init(), steps.push(s)) && run(init(), steps.push(s)) == step(w, s));
    step(w, s)
}

/// The stale worker's effect is admitted while worker 2 holds the claim.
pub proof fn it_really_breaks(k: Key)
    ensures
        exists|w: World| #[trigger] reached(w) && holds(cell(w, k).claim, 2, 2) && cell(w, k).fired == 1 && belief(w, 1) == (Belief::Running { key: k, fence: 1 }) && cell(w, k).effect == (Effect::Admitted { fence: 1 }),
{
    let w0 = from_start();
    let w1 = then(w0, Step::Acquire { worker: 1, key: k, lease: 10 });
    let w2 = then(w1, Step::Stop { worker: 1 });
    let w3 = then(w2, Step::Tick { to: 10 });
    let w4 = then(w3, Step::Acquire { worker: 2, key: k, lease: 10 });
    let w5 = then(w4, Step::Wake { worker: 1 });
    let w6 = then(w5, Step::Admit { worker: 1 });
    assert(reached(w6) && holds(cell(w6, k).claim, 2, 2) && cell(w6, k).fired == 1 && belief(w6, 1) == (Belief::Running { key: k, fence: 1 }) && cell(w6, k).effect == (Effect::Admitted { fence: 1 }));
}

} // verus!
