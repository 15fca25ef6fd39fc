// REJECTED. Theorem: deliver_accounts, on which theorem_live_grant_kept rests (no theft). Changed: Release is accepted from anybody while the claim is held. Expected: postcondition: a live grant that nobody revoked is no longer in force.
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
            match standing_spec(c, c.state->Held_owner, c.last) { // CHANGED from: match standing_spec(c, owner, fence) {
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

// Steps

/// The store takes one input at one row; the ghost history is kept beside it.
pub open spec fn deliver(x: Cell, i: Input) -> Cell {
    let r = next(x.claim, i);
    Cell {
        claim: r.0,
        grants: match (i, r.1) {
            (Input::Acquire { owner, now: _, lease: _ }, Verdict::Granted { fence, lease_end }) =>
                x.grants.push(Grant { fence, owner, lease_end }),
            (Input::Renew { owner, fence, now: _, lease: _ }, Verdict::Renewed { lease_end }) =>
                x.grants.update(fence - 1, Grant { fence, owner, lease_end }),
            _ => x.grants,
        },
        consumptions: if i is Consume && r.1 is Accepted { x.consumptions + 1 } else { x.consumptions },
        revoked: match (i, r.1) {
            (Input::Release { owner: _, fence, why: _ }, Verdict::Accepted) => x.revoked.insert(fence),
            (Input::DeclareDead { owner: _, fence }, Verdict::Accepted) => x.revoked.insert(fence),
            _ => x.revoked,
        },
    }
}

pub open spec fn step(w: World, s: Step) -> World {
    match s {
        Step::Tick { to } => World { now: to, ..w },
        Step::Deliver { key, input } => set_cell(w, key, deliver(cell(w, key), input)),
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

/// No theft: a grant stays in force until its lease ends, it is revoked by name, or it consumes.
proof fn deliver_accounts(x: Cell, i: Input, now: u64, j: int)
    requires
        cell_inv(x, now),
        timed(i, now),
        0 <= j < deliver(x, i).grants.len(),
    ensures
        accounted(deliver(x, i), j, now), // FAILS
{
    assert(0 <= j < x.grants.len() ==> accounted(x, j, now));
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

/// Worker 1 woke up and freed worker 2's claim; worker 3 has it while worker 2 runs, its lease live.
pub proof fn it_really_breaks(k: Key)
    ensures
        exists|w: World| #[trigger] reached(w) && belief(w, 2) == (Belief::Running { key: k, fence: 2 }) && !cell(w, k).revoked.contains(2) && w.now < cell(w, k).grants[1].lease_end && holds(cell(w, k).claim, 3, 3),
{
    let w0 = from_start();
    let w1 = then(w0, Step::Acquire { worker: 1, key: k, lease: 10 });
    let w2 = then(w1, Step::Stop { worker: 1 });
    let w3 = then(w2, Step::Tick { to: 10 });
    let w4 = then(w3, Step::Acquire { worker: 2, key: k, lease: 10 });
    let w5 = then(w4, Step::Wake { worker: 1 });
    let w6 = then(w5, Step::Release { worker: 1, why: Why::Failed });
    let w7 = then(w6, Step::Acquire { worker: 3, key: k, lease: 10 });
    assert(reached(w7) && belief(w7, 2) == (Belief::Running { key: k, fence: 2 }) && !cell(w7, k).revoked.contains(2) && w7.now < cell(w7, k).grants[1].lease_end && holds(cell(w7, k).claim, 3, 3));
}

} // verus!
