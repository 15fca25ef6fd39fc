// The consume claim under any number of workers and keys: arbitrary interleaving, crashes, stops and
// wake-ups, lost answers, stray and forged messages, wrong declarations of death, lease expiry.
// The transition function of the store is `next` of claim_spec.rs, the specification of the shipped code.
use super::claim::*;
use super::claim_spec::*;
use vstd::prelude::*;

verus! {

// ---------------------------------------------------------------------------------------------
// World
// ---------------------------------------------------------------------------------------------

/// What a claim is keyed by: a checkpoint and the set of questions open there. `recorded` stands for
/// anything else that is on record there (failed answers, the answer of a run in flight); the rule of
/// claim_keys.rs leaves it out of the key, and the field is here so that the wrong rule can be written.
pub struct Key {
    pub checkpoint: nat,
    pub open: Set<nat>,
    pub recorded: nat,
}

pub struct Grant {
    pub fence: u64,
    pub owner: u64,
    pub lease_end: u64,
}

/// One row of the store, and what an onlooker remembers of it.
pub struct Cell {
    pub claim: Claim,
    pub grants: Seq<Grant>,      // every grant so far, in order
    pub consumptions: nat,       // accepted Consume inputs
    pub revoked: Set<u64>,       // fences given back, freed by a person or declared dead
}

pub enum Belief {
    Idle,
    Running { key: Key, fence: u64 },
    Stopped { key: Key, fence: u64 },    // paused; may wake up at any later time
}

pub struct World {
    pub now: u64,                        // the store's time
    pub cells: Map<Key, Cell>,           // absent: never touched
    pub beliefs: Map<u64, Belief>,       // absent: idle
}

pub open spec fn fresh_cell() -> Cell {
    Cell {
        claim: fresh_spec(),
        grants: Seq::empty(),
        consumptions: 0,
        revoked: Set::empty(),
    }
}

pub open spec fn cell(w: World, k: Key) -> Cell {
    if w.cells.dom().contains(k) { w.cells[k] } else { fresh_cell() }
}

pub open spec fn belief(w: World, a: u64) -> Belief {
    if w.beliefs.dom().contains(a) { w.beliefs[a] } else { Belief::Idle }
}

pub open spec fn set_cell(w: World, k: Key, x: Cell) -> World {
    World { cells: w.cells.insert(k, x), ..w }
}

pub open spec fn set_belief(w: World, a: u64, b: Belief) -> World {
    World { beliefs: w.beliefs.insert(a, b), ..w }
}

pub open spec fn init() -> World {
    World { now: 0, cells: Map::empty(), beliefs: Map::empty() }
}

// ---------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------

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

/// The time of an input is the store's, read at any moment up to now: it may lag (a delayed message, a
/// decision taken on a row read earlier and written under the condition that the row is unchanged), it
/// never leads.
pub open spec fn timed(i: Input, t: u64) -> bool {
    match i {
        Input::Acquire { owner: _, now, lease: _ } => now <= t,
        Input::Renew { owner: _, fence: _, now, lease: _ } => now <= t,
        _ => true,
    }
}

pub enum Step {
    Tick { to: u64 },
    // Any input for any row from anybody, whose answer nobody hears: a lost answer, a late or
    // repeated message, a forged one, a person's release, a declaration of death, right or wrong.
    Deliver { key: Key, input: Input },
    // A worker's own call, answer heard.
    Acquire { worker: u64, key: Key, lease: u64 },
    Renew { worker: u64, lease: u64 },
    Consume { worker: u64 },
    Release { worker: u64, why: Why },
    Stop { worker: u64 },
    Wake { worker: u64 },
    Crash { worker: u64 },
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

// ---------------------------------------------------------------------------------------------
// Invariant
// ---------------------------------------------------------------------------------------------

pub open spec fn granted_to(x: Cell, a: u64, f: u64) -> bool {
    1 <= f <= x.grants.len() && x.grants[f - 1].owner == a
}

/// The grant with index i is in force, or consumed, or its lease has run out, or it was revoked.
pub open spec fn accounted(x: Cell, i: int, now: u64) -> bool {
    ||| x.revoked.contains(x.grants[i].fence)
    ||| x.grants[i].lease_end <= now
    ||| (i + 1 == x.claim.last && !(x.claim.state is Free))
}

/// Grants are numbered 1, 2, 3, ... and the row knows the last of them.
pub open spec fn numbered(x: Cell) -> bool {
    &&& wf(x.claim)
    &&& x.grants.len() == x.claim.last
    &&& forall|i: int| 0 <= i < x.grants.len() ==> (#[trigger] x.grants[i]).fence == i + 1
    &&& x.claim.state is Held ==> {
        let g = x.grants[x.claim.last - 1];
        g.owner == x.claim.state->Held_owner && g.lease_end == x.claim.state->Held_lease_end
    }
}

pub open spec fn consumption_counted(x: Cell) -> bool {
    x.consumptions == (if x.claim.state is Consumed { 1nat } else { 0nat })
}

pub open spec fn all_accounted(x: Cell, now: u64) -> bool {
    forall|i: int| 0 <= i < x.grants.len() ==> #[trigger] accounted(x, i, now)
}

pub open spec fn cell_inv(x: Cell, now: u64) -> bool {
    numbered(x) && consumption_counted(x) && all_accounted(x, now)
}

pub open spec fn belief_ok(w: World, a: u64) -> bool {
    match belief(w, a) {
        Belief::Idle => true,
        Belief::Running { key, fence } => granted_to(cell(w, key), a, fence),
        Belief::Stopped { key, fence } => granted_to(cell(w, key), a, fence),
    }
}

pub open spec fn inv(w: World) -> bool {
    &&& forall|k: Key| cell_inv(#[trigger] cell(w, k), w.now)
    &&& forall|a: u64| #[trigger] belief_ok(w, a)
}

/// `b` remembers all of `a`: no grant is forgotten, re-numbered or given to another owner.
pub open spec fn extends(a: Seq<Grant>, b: Seq<Grant>) -> bool {
    &&& a.len() <= b.len()
    &&& forall|i: int|
        0 <= i < a.len() ==> (#[trigger] b[i]).fence == a[i].fence && b[i].owner == a[i].owner
}

// ---------------------------------------------------------------------------------------------
// Preservation, action by action
// ---------------------------------------------------------------------------------------------

/// Numbers: a grant gets the next fence; nothing else touches the numbering.
proof fn deliver_numbers(x: Cell, i: Input, now: u64)
    requires
        cell_inv(x, now),
        timed(i, now),
    ensures
        numbered(deliver(x, i)),
        extends(x.grants, deliver(x, i).grants),
{
}

/// Counts: the row knows how often it was consumed.
proof fn deliver_counts(x: Cell, i: Input, now: u64)
    requires
        cell_inv(x, now),
        timed(i, now),
    ensures
        consumption_counted(deliver(x, i)),
{
}

/// No theft: a grant stays in force until its lease ends, it is revoked by name, or it consumes.
proof fn deliver_accounts(x: Cell, i: Input, now: u64, j: int)
    requires
        cell_inv(x, now),
        timed(i, now),
        0 <= j < deliver(x, i).grants.len(),
    ensures
        accounted(deliver(x, i), j, now),
{
    assert(0 <= j < x.grants.len() ==> accounted(x, j, now));
}

proof fn deliver_keeps(x: Cell, i: Input, now: u64)
    requires
        cell_inv(x, now),
        timed(i, now),
    ensures
        cell_inv(deliver(x, i), now),
        extends(x.grants, deliver(x, i).grants),
{
    let y = deliver(x, i);
    deliver_numbers(x, i, now);
    deliver_counts(x, i, now);
    assert forall|j: int| 0 <= j < y.grants.len() implies #[trigger] accounted(y, j, now) by {
        deliver_accounts(x, i, now, j);
    }
}

proof fn later_keeps(x: Cell, now: u64, to: u64)
    requires
        cell_inv(x, now),
        now <= to,
    ensures
        cell_inv(x, to),
{
    assert forall|j: int| 0 <= j < x.grants.len() implies #[trigger] accounted(x, j, to) by {
        assert(accounted(x, j, now));
    }
}

/// Replacing one row by a lawful successor of it, and at most one belief by a lawful one.
proof fn frame(w: World, k: Key, x: Cell, a: u64, b: Belief, w2: World)
    requires
        inv(w),
        cell_inv(x, w.now),
        extends(cell(w, k).grants, x.grants),
        w2 == set_belief(set_cell(w, k, x), a, b) || w2 == set_cell(w, k, x),
        w2 == set_belief(set_cell(w, k, x), a, b) ==> match b {
            Belief::Idle => true,
            Belief::Running { key, fence } => key == k && granted_to(x, a, fence),
            Belief::Stopped { key: _, fence: _ } => false,
        },
    ensures
        inv(w2),
{
    assert(w2.now == w.now);
    assert forall|q: Key| cell_inv(#[trigger] cell(w2, q), w2.now) by {
        assert(cell_inv(cell(w, q), w.now));
        if q == k { assert(cell(w2, q) == x); } else { assert(cell(w2, q) == cell(w, q)); }
    }
    assert forall|c: u64| #[trigger] belief_ok(w2, c) by {
        assert(belief_ok(w, c));
        if belief(w2, c) == belief(w, c) {
            match belief(w, c) {
                Belief::Idle => {},
                Belief::Running { key, fence } => {
                    if key == k { assert(cell(w2, key) == x); } else {
                        assert(cell(w2, key) == cell(w, key));
                    }
                },
                Belief::Stopped { key, fence } => {
                    if key == k { assert(cell(w2, key) == x); } else {
                        assert(cell(w2, key) == cell(w, key));
                    }
                },
            }
        } else {
            assert(c == a && belief(w2, c) == b);
            assert(cell(w2, k) == x);
        }
    }
}

pub proof fn init_inv()
    ensures
        inv(init()),
{
    let w = init();
    assert forall|k: Key| cell_inv(#[trigger] cell(w, k), w.now) by {}
    assert forall|a: u64| #[trigger] belief_ok(w, a) by {}
}

proof fn keeps_tick(w: World, to: u64)
    requires
        inv(w),
        to >= w.now,
    ensures
        inv(step(w, Step::Tick { to })),
{
    let w2 = step(w, Step::Tick { to });
    assert forall|k: Key| cell_inv(#[trigger] cell(w2, k), w2.now) by {
        assert(cell(w2, k) == cell(w, k));
        later_keeps(cell(w, k), w.now, to);
    }
    assert forall|a: u64| #[trigger] belief_ok(w2, a) by {
        assert(belief_ok(w, a));
        assert(belief(w2, a) == belief(w, a));
        match belief(w, a) {
            Belief::Idle => {},
            Belief::Running { key, fence } => { assert(cell(w2, key) == cell(w, key)); },
            Belief::Stopped { key, fence } => { assert(cell(w2, key) == cell(w, key)); },
        }
    }
}

proof fn keeps_deliver(w: World, key: Key, input: Input)
    requires
        inv(w),
        timed(input, w.now),
    ensures
        inv(step(w, Step::Deliver { key, input })),
{
    deliver_keeps(cell(w, key), input, w.now);
    frame(w, key, deliver(cell(w, key), input), 0, Belief::Idle, step(w, Step::Deliver { key, input }));
}

proof fn keeps_acquire(w: World, worker: u64, key: Key, lease: u64)
    requires
        inv(w),
        belief(w, worker) is Idle,
    ensures
        inv(step(w, Step::Acquire { worker, key, lease })),
{
    let i = Input::Acquire { owner: worker, now: w.now, lease };
    let x = deliver(cell(w, key), i);
    deliver_keeps(cell(w, key), i, w.now);
    let v = next(cell(w, key).claim, i).1;
    let b = match v {
        Verdict::Granted { fence, lease_end: _ } => Belief::Running { key, fence },
        _ => Belief::Idle,
    };
    frame(w, key, x, worker, b, step(w, Step::Acquire { worker, key, lease }));
}

proof fn keeps_worker_word(w: World, s: Step)
    requires
        inv(w),
        enabled(w, s),
        s is Renew || s is Consume || s is Release,
    ensures
        inv(step(w, s)),
{
    let worker = match s {
        Step::Renew { worker, lease: _ } => worker,
        Step::Consume { worker } => worker,
        Step::Release { worker, why: _ } => worker,
        _ => 0,
    };
    match belief(w, worker) {
        Belief::Running { key, fence } => {
            let i = match s {
                Step::Renew { worker: _, lease } =>
                    Input::Renew { owner: worker, fence, now: w.now, lease },
                Step::Consume { worker: _ } => Input::Consume { owner: worker, fence },
                Step::Release { worker: _, why } => Input::Release { owner: worker, fence, why },
                _ => Input::Consume { owner: worker, fence },
            };
            deliver_keeps(cell(w, key), i, w.now);
            frame(w, key, deliver(cell(w, key), i), worker, Belief::Idle, step(w, s));
        },
        _ => {},
    }
}

proof fn keeps_stop_wake_crash(w: World, s: Step)
    requires
        inv(w),
        enabled(w, s),
        s is Stop || s is Wake || s is Crash,
    ensures
        inv(step(w, s)),
{
    let w2 = step(w, s);
    let worker = match s {
        Step::Stop { worker } => worker,
        Step::Wake { worker } => worker,
        Step::Crash { worker } => worker,
        _ => 0,
    };
    assert forall|k: Key| cell_inv(#[trigger] cell(w2, k), w2.now) by {
        assert(cell(w2, k) == cell(w, k));
    }
    assert forall|a: u64| #[trigger] belief_ok(w2, a) by {
        assert(belief_ok(w, a));
        assert(forall|k: Key| #[trigger] cell(w2, k) == cell(w, k));
        assert(belief_ok(w, worker));
    }
}

pub proof fn step_keeps(w: World, s: Step)
    requires
        inv(w),
        enabled(w, s),
    ensures
        inv(step(w, s)),
{
    match s {
        Step::Tick { to } => keeps_tick(w, to),
        Step::Deliver { key, input } => keeps_deliver(w, key, input),
        Step::Acquire { worker, key, lease } => keeps_acquire(w, worker, key, lease),
        Step::Renew { worker, lease } => keeps_worker_word(w, s),
        Step::Consume { worker } => keeps_worker_word(w, s),
        Step::Release { worker, why } => keeps_worker_word(w, s),
        Step::Stop { worker } => keeps_stop_wake_crash(w, s),
        Step::Wake { worker } => keeps_stop_wake_crash(w, s),
        Step::Crash { worker } => keeps_stop_wake_crash(w, s),
    }
}

/// Every reachable world satisfies the invariant.
pub proof fn theorem_reachable(steps: Seq<Step>)
    requires
        legal(init(), steps),
    ensures
        inv(run(init(), steps)),
    decreases steps.len(),
{
    if steps.len() == 0 {
        init_inv();
    } else {
        theorem_reachable(steps.drop_last());
        step_keeps(run(init(), steps.drop_last()), steps.last());
    }
}

// ---------------------------------------------------------------------------------------------
// Theorems
// ---------------------------------------------------------------------------------------------

pub open spec fn carries(w: World, a: u64, k: Key, f: u64) -> bool {
    match belief(w, a) {
        Belief::Idle => false,
        Belief::Running { key, fence } => key == k && fence == f,
        Belief::Stopped { key, fence } => key == k && fence == f,
    }
}

/// (1) Whatever two workers believe, no fence is carried by both; so at most one belief carries
/// the current one, and if a claim is held, only its holder can be that worker.
pub proof fn theorem_one_current(w: World, k: Key, a: u64, b: u64, f: u64)
    requires
        inv(w),
        carries(w, a, k, f),
    ensures
        carries(w, b, k, f) ==> a == b,
        cell(w, k).claim.state is Held && cell(w, k).claim.state->Held_fence == f
            ==> cell(w, k).claim.state->Held_owner == a,
{
    assert(belief_ok(w, a));
    assert(belief_ok(w, b));
    assert(cell_inv(cell(w, k), w.now));
}

/// (2) Fences strictly increase from grant to grant, and no step rewrites the past.
pub proof fn theorem_fences_increase(w: World, s: Step, k: Key, i: int, j: int)
    requires
        inv(w),
        enabled(w, s),
        0 <= i < j < cell(w, k).grants.len(),
    ensures
        cell(w, k).grants[i].fence < cell(w, k).grants[j].fence,
        extends(cell(w, k).grants, cell(step(w, s), k).grants),
{
    assert(cell_inv(cell(w, k), w.now));
    rows_step(w, s, k);
}

/// A step touches a row by one input, or not at all.
pub proof fn rows_step(w: World, s: Step, k: Key)
    requires
        inv(w),
        enabled(w, s),
    ensures
        extends(cell(w, k).grants, cell(step(w, s), k).grants),
        ({
            let x = cell(w, k);
            let y = cell(step(w, s), k);
            ||| y == x
            ||| exists|i: Input| timed(i, w.now) && y == #[trigger] deliver(x, i)
        }),
{
    let x = cell(w, k);
    assert(cell_inv(x, w.now));
    assert(extends(x.grants, x.grants));
    match s {
        Step::Deliver { key, input } => {
            if key == k { deliver_keeps(x, input, w.now); }
        },
        Step::Acquire { worker, key, lease } => {
            let i = Input::Acquire { owner: worker, now: w.now, lease };
            if key == k {
                deliver_keeps(x, i, w.now);
                assert(cell(step(w, s), k) == deliver(x, i));
            }
        },
        Step::Renew { worker, lease } => match belief(w, worker) {
            Belief::Running { key, fence } => {
                let i = Input::Renew { owner: worker, fence, now: w.now, lease };
                if key == k {
                    deliver_keeps(x, i, w.now);
                    assert(cell(step(w, s), k) == deliver(x, i));
                }
            },
            _ => {},
        },
        Step::Consume { worker } => match belief(w, worker) {
            Belief::Running { key, fence } => {
                let i = Input::Consume { owner: worker, fence };
                if key == k {
                    deliver_keeps(x, i, w.now);
                    assert(cell(step(w, s), k) == deliver(x, i));
                }
            },
            _ => {},
        },
        Step::Release { worker, why } => match belief(w, worker) {
            Belief::Running { key, fence } => {
                let i = Input::Release { owner: worker, fence, why };
                if key == k {
                    deliver_keeps(x, i, w.now);
                    assert(cell(step(w, s), k) == deliver(x, i));
                }
            },
            _ => {},
        },
        _ => {},
    }
}

/// (3) CO-c: an authority is consumed at most once ...
pub proof fn theorem_consumed_once(w: World, k: Key)
    requires
        inv(w),
    ensures
        cell(w, k).consumptions <= 1,
        cell(w, k).consumptions == 1 <==> cell(w, k).claim.state is Consumed,
{
    assert(cell_inv(cell(w, k), w.now));
}

/// ... consumed is terminal under every step of everybody ...
pub proof fn theorem_consumed_terminal(w: World, s: Step, k: Key)
    requires
        inv(w),
        enabled(w, s),
        cell(w, k).claim.state is Consumed,
    ensures
        cell(step(w, s), k).claim == cell(w, k).claim,
        cell(step(w, s), k).consumptions == cell(w, k).consumptions,
{
    rows_step(w, s, k);
}

/// ... for ever ...
pub proof fn theorem_consumed_for_ever(w: World, steps: Seq<Step>, k: Key)
    requires
        inv(w),
        legal(w, steps),
        cell(w, k).claim.state is Consumed,
    ensures
        inv(run(w, steps)),
        cell(run(w, steps), k).claim == cell(w, k).claim,
        cell(run(w, steps), k).consumptions == 1,
    decreases steps.len(),
{
    if steps.len() == 0 {
        theorem_consumed_once(w, k);
    } else {
        theorem_consumed_for_ever(w, steps.drop_last(), k);
        let w1 = run(w, steps.drop_last());
        step_keeps(w1, steps.last());
        theorem_consumed_terminal(w1, steps.last(), k);
    }
}

/// ... and an owner whose claim was taken over, waking up whenever it likes, changes nothing:
/// its consumption, its release and its renewal are refused.
pub proof fn theorem_stale_owner_inert(w: World, a: u64, k: Key, f: u64, lease: u64, why: Why)
    requires
        inv(w),
        belief(w, a) == (Belief::Running { key: k, fence: f }),
        f < cell(w, k).claim.last,
    ensures
        cell(step(w, Step::Consume { worker: a }), k) == cell(w, k),
        cell(step(w, Step::Release { worker: a, why }), k) == cell(w, k),
        cell(step(w, Step::Renew { worker: a, lease }), k) == cell(w, k),
{
    assert(cell_inv(cell(w, k), w.now));
    assert(belief_ok(w, a));
}

/// ... and it is told so: stale, or, if the taker is through, consumed by another fence than its own.
pub proof fn theorem_stale_owner_told(w: World, a: u64, k: Key, f: u64)
    requires
        inv(w),
        belief(w, a) == (Belief::Running { key: k, fence: f }),
        f < cell(w, k).claim.last,
    ensures
        ({
            let v = next(cell(w, k).claim, Input::Consume { owner: a, fence: f }).1;
            v is Stale || (v is AlreadyConsumed && v->AlreadyConsumed_fence != f)
        }),
{
    assert(cell_inv(cell(w, k), w.now));
    assert(belief_ok(w, a));
}

/// No theft: while its lease runs and nobody revoked it, a grant is in force or consumed by itself.
pub proof fn theorem_live_grant_kept(w: World, a: u64, k: Key, f: u64)
    requires
        inv(w),
        carries(w, a, k, f),
        !cell(w, k).revoked.contains(f),
        w.now < cell(w, k).grants[f - 1].lease_end,
    ensures
        holds(cell(w, k).claim, a, f) || cell(w, k).claim.state == (State::Consumed { fence: f }),
{
    assert(belief_ok(w, a));
    assert(cell_inv(cell(w, k), w.now));
    assert(accounted(cell(w, k), f - 1, w.now));
}

/// A fence is revoked only by its own owner's word, a person's, or a declaration of death: by an
/// input that names the grant's owner and fence.
pub proof fn theorem_revoked_by_name(w: World, s: Step, k: Key, f: u64)
    requires
        inv(w),
        enabled(w, s),
        !cell(w, k).revoked.contains(f),
        cell(step(w, s), k).revoked.contains(f),
    ensures
        exists|i: Input, o: u64|
            (i is Release || i is DeclareDead) && #[trigger] speaks_for(i, o, f) && holds(
                cell(w, k).claim,
                o,
                f,
            ) && cell(step(w, s), k) == deliver(cell(w, k), i),
{
    let x = cell(w, k);
    let y = cell(step(w, s), k);
    assert(cell_inv(x, w.now));
    rows_step(w, s, k);
    let i = choose|i: Input| timed(i, w.now) && y == #[trigger] deliver(x, i);
    assert(y == deliver(x, i));
    match i {
        Input::Release { owner, fence, why } => { assert(speaks_for(i, owner, f)); },
        Input::DeclareDead { owner, fence } => { assert(speaks_for(i, owner, f)); },
        _ => {},
    }
}

/// (4) No stuck state: from every reachable state in which the authority is not consumed, a fresh
/// worker gets the grant, carries the current fence, and its consumption is accepted -- by waiting
/// for the lease's end, or at once after a declaration of death or a release; at once when free.
pub proof fn theorem_not_stuck(w: World, k: Key, a: u64, lease: u64)
    requires
        inv(w),
        !(cell(w, k).claim.state is Consumed),
        cell(w, k).claim.last < u64::MAX,
        belief(w, a) is Idle,
    ensures
        cell(w, k).claim.state is Free ==> takes(w, a, k, lease),
        cell(w, k).claim.state is Held ==> {
            let o = cell(w, k).claim.state->Held_owner;
            let f = cell(w, k).claim.state->Held_fence;
            let end = cell(w, k).claim.state->Held_lease_end;
            let wait = Step::Tick { to: if end > w.now { end } else { w.now } };
            let dead = Step::Deliver { key: k, input: Input::DeclareDead { owner: o, fence: f } };
            let person = Step::Deliver {
                key: k,
                input: Input::Release { owner: o, fence: f, why: Why::ByPerson },
            };
            &&& enabled(w, wait) && takes(step(w, wait), a, k, lease)
            &&& enabled(w, dead) && takes(step(w, dead), a, k, lease)
            &&& enabled(w, person) && takes(step(w, person), a, k, lease)
        },
{
    assert(cell_inv(cell(w, k), w.now));
}

/// `a` acquires in one step, is the current holder, and its next word consumes.
pub open spec fn takes(w: World, a: u64, k: Key, lease: u64) -> bool {
    let s = Step::Acquire { worker: a, key: k, lease };
    let w1 = step(w, s);
    let f = cell(w1, k).claim.last;
    let w2 = step(w1, Step::Consume { worker: a });
    &&& enabled(w, s)
    &&& belief(w1, a) == (Belief::Running { key: k, fence: f })
    &&& holds(cell(w1, k).claim, a, f)
    &&& enabled(w1, Step::Consume { worker: a })
    &&& cell(w2, k).claim.state == (State::Consumed { fence: f })
    &&& cell(w2, k).consumptions == cell(w, k).consumptions + 1
}

/// A holder's own release of any kind makes the claim grantable at once.
pub proof fn theorem_release_then_take(w: World, h: u64, k: Key, f: u64, why: Why, a: u64, lease: u64)
    requires
        inv(w),
        belief(w, h) == (Belief::Running { key: k, fence: f }),
        holds(cell(w, k).claim, h, f),
        cell(w, k).claim.last < u64::MAX,
        belief(w, a) is Idle,
    ensures
        enabled(w, Step::Release { worker: h, why }),
        takes(step(w, Step::Release { worker: h, why }), a, k, lease),
{
    assert(cell_inv(cell(w, k), w.now));
}

/// Compare-and-swap is enough: a decision taken on a row as it was read, written only if the row is
/// still the same, is the decision taken at the moment of writing.
pub proof fn theorem_compare_and_swap(w: World, k: Key, read: Claim, i: Input)
    requires
        inv(w),
        timed(i, w.now),
        cell(w, k).claim == read,
    ensures
        enabled(w, Step::Deliver { key: k, input: i }),
        cell(step(w, Step::Deliver { key: k, input: i }), k).claim == next(read, i).0,
        inv(step(w, Step::Deliver { key: k, input: i })),
{
    step_keeps(w, Step::Deliver { key: k, input: i });
}

/// (5) Two keys never meet: a step that works on one row leaves every other row as it was.
pub proof fn theorem_keys_independent(w: World, k: Key, i: Input, q: Key)
    requires
        q != k,
    ensures
        cell(step(w, Step::Deliver { key: k, input: i }), q) == cell(w, q),
{
}

} // verus!
