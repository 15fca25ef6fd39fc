// REJECTED. Theorem: admission_keeps, on which theorem_effect_once rests (CO-e). Changed: the admission checks the fence but not the ledger: every new grant fires again. Expected: postcondition: the ledger row no longer counts the fresh admissions.
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
    match standing_spec(c, owner, fence) {
        Standing::Current => match e {
            Effect::None => (Effect::Admitted { fence }, Admission::Fresh),
            Effect::Admitted { fence: f } => (e, Admission::Fresh), // CHANGED from: Effect::Admitted { fence: f } => (e, Admission::Already { fence: f }),
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

proof fn admission_keeps(x: Cell, owner: u64, fence: u64, now: u64)
    requires
        cell_inv(x, now),
    ensures
        numbered(deliver_admission(x, owner, fence)),
        consumption_counted(deliver_admission(x, owner, fence)),
        effect_counted(deliver_admission(x, owner, fence)), // FAILS
        all_accounted(deliver_admission(x, owner, fence), now),
        extends(x.grants, deliver_admission(x, owner, fence).grants),
{
    let y = deliver_admission(x, owner, fence);
    assert forall|j: int| 0 <= j < y.grants.len() implies #[trigger] accounted(y, j, now) by {
        assert(accounted(x, j, now));
    }
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

/// One authority, two effects.
pub proof fn it_really_breaks(k: Key)
    ensures
        exists|w: World| #[trigger] reached(w) && cell(w, k).fired == 2,
{
    let w0 = from_start();
    let w1 = then(w0, Step::Acquire { worker: 1, key: k, lease: 10 });
    let w2 = then(w1, Step::Admit { worker: 1 });
    let w3 = then(w2, Step::Crash { worker: 1 });
    let w4 = then(w3, Step::Tick { to: 10 });
    let w5 = then(w4, Step::Acquire { worker: 2, key: k, lease: 10 });
    let w6 = then(w5, Step::Admit { worker: 2 });
    assert(reached(w6) && cell(w6, k).fired == 2);
}

} // verus!
