// REJECTED. Theorem: deliver_accounts, on which theorem_live_grant_kept rests (no theft). Changed: an Acquire may carry a time ahead of the store's, a worker's own clock. Expected: postcondition: a live grant that nobody revoked is no longer in force.
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

/// The time of an input is the store's, read at any moment up to now: it may lag (a delayed message, a
/// decision taken on a row read earlier and written under the condition that the row is unchanged), it
/// never leads.
pub open spec fn timed(i: Input, t: u64) -> bool {
    match i {
        Input::Acquire { owner: _, now, lease: _ } => true, // CHANGED from: Input::Acquire { owner: _, now, lease: _ } => now <= t,
        Input::Renew { owner: _, fence: _, now, lease: _ } => now <= t,
        _ => true,
    }
}

pub open spec fn enabled(w: World, s: Step) -> bool {
    match s {
        Step::Tick { to } => to >= w.now,
        Step::Deliver { key: _, input } => timed(input, w.now),
        Step::Acquire { worker, key: _, lease: _ } => belief(w, worker) is Idle,
        Step::Renew { worker, lease: _ } => belief(w, worker) is Running,
        Step::Consume { worker } => belief(w, worker) is Running,
        Step::Release { worker, why: _ } => belief(w, worker) is Running,
        Step::Stop { worker } => belief(w, worker) is Running,
        Step::Wake { worker } => belief(w, worker) is Stopped,
        Step::Crash { worker } => !(belief(w, worker) is Idle),
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

/// Worker 2's clock runs ahead: it has the claim while worker 1 runs, its lease live, by the store's time.
pub proof fn it_really_breaks(k: Key)
    ensures
        exists|w: World| #[trigger] reached(w) && belief(w, 1) == (Belief::Running { key: k, fence: 1 }) && !cell(w, k).revoked.contains(1) && w.now < cell(w, k).grants[0].lease_end && holds(cell(w, k).claim, 2, 2),
{
    let w0 = from_start();
    let w1 = then(w0, Step::Acquire { worker: 1, key: k, lease: 10 });
    let w2 = then(w1, Step::Deliver { key: k, input: Input::Acquire { owner: 2, now: 99, lease: 10 } });
    assert(reached(w2) && belief(w2, 1) == (Belief::Running { key: k, fence: 1 }) && !cell(w2, k).revoked.contains(1) && w2.now < cell(w2, k).grants[0].lease_end && holds(cell(w2, k).claim, 2, 2));
}

} // verus!
