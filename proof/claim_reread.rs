// The same thread as in claim_keys.rs where the checkpoint and the claim cannot be written in one
// transaction: the run's checkpoint lands (`Move`), and the word that consumes the claim comes later or,
// if the process dies in between, never. Safe if whoever is granted a claim reads the head again before it
// runs (`Confirm`) and goes on only if the head still has the row it claimed.
use super::claim::*;
use super::claim_spec::*;
use super::claim_system::*;
use vstd::prelude::*;

verus! {

pub struct Thread {
    pub w: World,
    pub at: Key,
    pub seen: Set<Key>,
    pub next_question: nat,
    pub taken: spec_fn(nat) -> nat,
    pub confirmed: Set<(Key, u64)>,   // (row, fence) of grants whose holder read the head again since
}

pub open spec fn row(k: Key) -> Key {
    Key { checkpoint: k.checkpoint, open: k.open, recorded: 0 }
}

pub open spec fn is_consumed(t: Thread, r: Key) -> bool {
    cell(t.w, r).claim.state is Consumed
}

pub open spec fn start(at: Key, next_question: nat) -> Thread {
    Thread {
        w: init(),
        at,
        seen: Set::empty().insert(at),
        next_question,
        taken: |q: nat| 0,
        confirmed: Set::empty(),
    }
}

pub struct Move {
    pub worker: u64,
    pub fence: u64,
    pub from: Key,
    pub answers: Set<nat>,
    pub asked: Set<nat>,
    pub next_question: nat,
    pub moved: bool,
    pub to: nat,
}

pub enum Event {
    Other { step: Step },                           // any step that consumes nothing
    Confirm { worker: u64, r: Key, fence: u64 },    // granted; the head was read again and has this row
    Move { run: Move },                             // checks the fence (row lock), writes the thread
    Tidy { r: Key, owner: u64, fence: u64 },        // a holder whose row is not the head's consumes it
}

pub open spec fn next_open(m: Move) -> Set<nat> {
    if m.moved { m.asked } else { m.from.open.difference(m.answers).union(m.asked) }
}

/// What a holder must have seen before it may run.
pub open spec fn head_matches(t: Thread, r: Key) -> bool {
    r == row(t.at)
}

pub open spec fn can(t: Thread, e: Event) -> bool {
    match e {
        Event::Other { step } => enabled(t.w, step) && forall|k: Key|
            (#[trigger] cell(crate::claim_system::step(t.w, step), k)).consumptions == cell(t.w, k).consumptions,
        Event::Confirm { worker, r, fence } => {
            &&& belief(t.w, worker) == (Belief::Running { key: r, fence })
            &&& head_matches(t, r)
        },
        Event::Move { run } => {
            &&& t.seen.contains(run.from)
            &&& holds(cell(t.w, row(run.from)).claim, run.worker, run.fence)
            &&& t.confirmed.contains((row(run.from), run.fence))
            &&& run.moved || exists|q: nat| run.answers.contains(q)
            &&& run.moved ==> run.to > t.at.checkpoint
            &&& forall|q: nat| #[trigger] run.answers.contains(q) ==> run.from.open.contains(q)
            &&& t.next_question <= run.next_question
            &&& forall|q: nat| #[trigger] run.asked.contains(q) ==> t.next_question <= q < run.next_question
        },
        Event::Tidy { r, owner, fence } => r != row(t.at) && exists|k: Key| #[trigger]
            t.seen.contains(k) && row(k) == r,
    }
}

pub open spec fn happen(t: Thread, e: Event) -> Thread {
    match e {
        Event::Other { step } => Thread { w: crate::claim_system::step(t.w, step), ..t },
        Event::Confirm { worker, r, fence } => Thread { confirmed: t.confirmed.insert((r, fence)), ..t },
        Event::Move { run } => {
            let at = Key {
                checkpoint: if run.moved { run.to } else { run.from.checkpoint },
                open: next_open(run),
                recorded: 0,
            };
            Thread {
                at,
                seen: t.seen.insert(at),
                next_question: run.next_question,
                taken: |q: nat| if run.answers.contains(q) { (t.taken)(q) + 1 } else { (t.taken)(q) },
                confirmed: t.confirmed.remove((row(run.from), run.fence)),
                ..t
            }
        },
        Event::Tidy { r, owner, fence } => Thread {
            w: crate::claim_system::step(t.w, Step::Deliver { key: r, input: Input::Consume { owner, fence } }),
            ..t
        },
    }
}

pub open spec fn left_for_good(t: Thread, k: Key) -> bool {
    k.checkpoint < t.at.checkpoint || exists|q: nat| #[trigger] k.open.contains(q) && (t.taken)(q) >= 1
}

pub open spec fn positions_ok(t: Thread) -> bool {
    &&& t.seen.contains(t.at)
    &&& forall|q: nat| #[trigger] t.at.open.contains(q) ==> (t.taken)(q) == 0 && q < t.next_question
    &&& forall|q: nat| (#[trigger] (t.taken)(q)) <= 1
    &&& forall|q: nat| (#[trigger] (t.taken)(q)) >= 1 ==> q < t.next_question
    &&& forall|k: Key| #[trigger] t.seen.contains(k) ==> row(k) == row(t.at) || left_for_good(t, k)
    &&& forall|k: Key| #[trigger] t.seen.contains(k) ==> k.checkpoint <= t.at.checkpoint
}

/// A confirmed grant is a grant; while its holder holds it, its row is the head's.
pub open spec fn confirmed_ok(t: Thread) -> bool {
    forall|r: Key, f: u64| #[trigger]
        t.confirmed.contains((r, f)) ==> f <= cell(t.w, r).claim.last && forall|a: u64| #[trigger]
            holds(cell(t.w, r).claim, a, f) ==> r == row(t.at)
}

pub open spec fn current_open(t: Thread) -> bool {
    !is_consumed(t, row(t.at))
}

pub open spec fn consumed_is_left(t: Thread) -> bool {
    forall|r: Key| #[trigger] is_consumed(t, r) ==> exists|k: Key| #[trigger]
        t.seen.contains(k) && row(k) == r && left_for_good(t, k)
}

pub open spec fn tinv(t: Thread) -> bool {
    inv(t.w) && positions_ok(t) && confirmed_ok(t) && consumed_is_left(t) && current_open(t)
}

pub proof fn start_inv(at: Key, next_question: nat)
    requires
        forall|q: nat| #[trigger] at.open.contains(q) ==> q < next_question,
    ensures
        tinv(start(at, next_question)),
{
    init_inv();
}

proof fn other_keeps(t: Thread, s: Step)
    requires
        tinv(t),
        can(t, Event::Other { step: s }),
    ensures
        tinv(happen(t, Event::Other { step: s })),
{
    let t2 = happen(t, Event::Other { step: s });
    step_keeps(t.w, s);
    assert forall|r: Key| #[trigger] is_consumed(t2, r) == is_consumed(t, r) by {
        assert(cell_inv(cell(t.w, r), t.w.now));
        assert(cell_inv(cell(t2.w, r), t2.w.now));
    }
    assert forall|k: Key| left_for_good(t, k) implies #[trigger] left_for_good(t2, k) by {
        if !(k.checkpoint < t.at.checkpoint) {
            let q = choose|q: nat| #[trigger] k.open.contains(q) && (t.taken)(q) >= 1;
            assert(k.open.contains(q) && (t2.taken)(q) >= 1);
        }
    }
    assert forall|r: Key| #[trigger] is_consumed(t2, r) implies exists|k: Key| #[trigger]
        t2.seen.contains(k) && row(k) == r && left_for_good(t2, k) by {
        assert(is_consumed(t, r));
        let k = choose|k: Key| #[trigger] t.seen.contains(k) && row(k) == r && left_for_good(t, k);
        assert(t2.seen.contains(k) && left_for_good(t2, k));
    }
    assert(is_consumed(t2, row(t2.at)) == is_consumed(t, row(t.at)));
    assert forall|r: Key, f: u64| #[trigger] t2.confirmed.contains((r, f)) implies f <= cell(
        t2.w,
        r,
    ).claim.last && forall|a: u64| #[trigger] holds(cell(t2.w, r).claim, a, f) ==> r == row(t2.at) by {
        assert(t.confirmed.contains((r, f)));
        old_holder(t.w, s, r, f);
    }
}

/// A fence granted before and held now was held before.
proof fn old_holder(w: World, s: Step, r: Key, f: u64)
    requires
        inv(w),
        enabled(w, s),
        f <= cell(w, r).claim.last,
    ensures
        f <= cell(step(w, s), r).claim.last,
        forall|a: u64| #[trigger] holds(cell(step(w, s), r).claim, a, f) ==> holds(cell(w, r).claim, a, f),
{
    rows_step(w, s, r);
    assert(cell_inv(cell(w, r), w.now));
}

/// What a holder saw when it read the head again.
proof fn confirm_sees_head(t: Thread, worker: u64, r: Key, fence: u64)
    requires
        tinv(t),
        can(t, Event::Confirm { worker, r, fence }),
    ensures
        forall|a: u64| #[trigger] holds(cell(t.w, r).claim, a, fence) ==> r == row(t.at),
{
}

proof fn confirm_keeps(t: Thread, worker: u64, r: Key, fence: u64)
    requires
        tinv(t),
        can(t, Event::Confirm { worker, r, fence }),
    ensures
        inv(happen(t, Event::Confirm { worker, r, fence }).w),
        positions_ok(happen(t, Event::Confirm { worker, r, fence })),
        confirmed_ok(happen(t, Event::Confirm { worker, r, fence })),
        consumed_is_left(happen(t, Event::Confirm { worker, r, fence })),
        current_open(happen(t, Event::Confirm { worker, r, fence })),
{
    let t2 = happen(t, Event::Confirm { worker, r, fence });
    assert(belief_ok(t.w, worker));
    assert(cell_inv(cell(t.w, r), t.w.now));
    confirm_sees_head(t, worker, r, fence);
    assert forall|k: Key| left_for_good(t, k) implies #[trigger] left_for_good(t2, k) by {
        if !(k.checkpoint < t.at.checkpoint) {
            let q = choose|q: nat| #[trigger] k.open.contains(q) && (t.taken)(q) >= 1;
            assert(k.open.contains(q) && (t2.taken)(q) >= 1);
        }
    }
    assert forall|x: Key| #[trigger] is_consumed(t2, x) implies exists|k: Key| #[trigger]
        t2.seen.contains(k) && row(k) == x && left_for_good(t2, k) by {
        assert(is_consumed(t, x));
        let k = choose|k: Key| #[trigger] t.seen.contains(k) && row(k) == x && left_for_good(t, k);
        assert(t2.seen.contains(k) && left_for_good(t2, k));
    }
    assert(!is_consumed(t, row(t.at)));
    assert forall|x: Key, f: u64| #[trigger] t2.confirmed.contains((x, f)) implies f <= cell(
        t2.w,
        x,
    ).claim.last && forall|a: u64| #[trigger] holds(cell(t2.w, x).claim, a, f) ==> x == row(t2.at) by {
        if !(x == r && f == fence) {
            assert(t.confirmed.contains((x, f)));
        }
    }
}

proof fn move_keeps(t: Thread, m: Move)
    requires
        tinv(t),
        can(t, Event::Move { run: m }),
    ensures
        tinv(happen(t, Event::Move { run: m })),
{
    let t2 = happen(t, Event::Move { run: m });
    let r = row(m.from);
    assert(t.confirmed.contains((r, m.fence)) && holds(cell(t.w, r).claim, m.worker, m.fence));
    assert(r == row(t.at));
    assert(r.checkpoint == row(t.at).checkpoint && r.open == row(t.at).open);
    assert(m.from.checkpoint == t.at.checkpoint && m.from.open == t.at.open);
    assert forall|q: nat| #[trigger] t2.at.open.contains(q) implies (t2.taken)(q) == 0 && q
        < t2.next_question by {
        if m.asked.contains(q) {
            assert((t.taken)(q) == 0);
            assert(!m.answers.contains(q));
        } else {
            assert(t.at.open.contains(q) && !m.answers.contains(q));
        }
    }
    assert forall|q: nat| (#[trigger] (t2.taken)(q)) <= 1 by {
        if m.answers.contains(q) { assert(t.at.open.contains(q)); } else { assert((t.taken)(q) <= 1); }
    }
    assert forall|q: nat| (#[trigger] (t2.taken)(q)) >= 1 implies q < t2.next_question by {
        if m.answers.contains(q) { assert(t.at.open.contains(q)); } else { assert((t.taken)(q) >= 1); }
    }
    assert forall|k: Key| left_for_good(t, k) implies #[trigger] left_for_good(t2, k) by {
        if !(k.checkpoint < t.at.checkpoint) {
            let q = choose|q: nat| #[trigger] k.open.contains(q) && (t.taken)(q) >= 1;
            assert(k.open.contains(q) && (t2.taken)(q) >= 1);
        }
    }
    assert forall|k: Key| row(k) == row(t.at) implies #[trigger] left_for_good(t2, k) by {
        assert(row(k).checkpoint == row(t.at).checkpoint && row(k).open == row(t.at).open);
        assert(k.checkpoint == t.at.checkpoint && k.open == t.at.open);
        if !m.moved {
            let q = choose|q: nat| m.answers.contains(q);
            assert(k.open.contains(q) && (t2.taken)(q) >= 1);
        }
    }
    assert forall|k: Key| #[trigger] t2.seen.contains(k) implies (row(k) == row(t2.at) || left_for_good(
        t2,
        k,
    )) && k.checkpoint <= t2.at.checkpoint by {
        if k != t2.at {
            assert(t.seen.contains(k));
        }
    }
    assert forall|x: Key| #[trigger] is_consumed(t2, x) implies exists|k: Key| #[trigger]
        t2.seen.contains(k) && row(k) == x && left_for_good(t2, k) by {
        assert(is_consumed(t, x));
        let k = choose|k: Key| #[trigger] t.seen.contains(k) && row(k) == x && left_for_good(t, k);
        assert(t2.seen.contains(k) && left_for_good(t2, k));
    }
    if is_consumed(t2, row(t2.at)) {
        let k = choose|k: Key| #[trigger]
            t2.seen.contains(k) && row(k) == row(t2.at) && left_for_good(t2, k);
        assert(row(k).checkpoint == row(t2.at).checkpoint && row(k).open == row(t2.at).open);
        assert(k.checkpoint == t2.at.checkpoint && k.open == t2.at.open);
    }
    assert forall|x: Key, f: u64| #[trigger] t2.confirmed.contains((x, f)) implies f <= cell(
        t2.w,
        x,
    ).claim.last && forall|a: u64| #[trigger] holds(cell(t2.w, x).claim, a, f) ==> x == row(t2.at) by {
        assert(t.confirmed.contains((x, f)));
        assert forall|a: u64| #[trigger] holds(cell(t2.w, x).claim, a, f) implies x == row(t2.at) by {
            assert(holds(cell(t.w, x).claim, a, f));
            assert(x == row(t.at));
            assert(f == m.fence);
        }
    }
}

proof fn tidy_keeps(t: Thread, r: Key, owner: u64, fence: u64)
    requires
        tinv(t),
        can(t, Event::Tidy { r, owner, fence }),
    ensures
        tinv(happen(t, Event::Tidy { r, owner, fence })),
{
    let t2 = happen(t, Event::Tidy { r, owner, fence });
    let s = Step::Deliver { key: r, input: Input::Consume { owner, fence } };
    step_keeps(t.w, s);
    assert(forall|x: Key| x != r ==> #[trigger] cell(t2.w, x) == cell(t.w, x));
    assert forall|k: Key| left_for_good(t, k) implies #[trigger] left_for_good(t2, k) by {
        if !(k.checkpoint < t.at.checkpoint) {
            let q = choose|q: nat| #[trigger] k.open.contains(q) && (t.taken)(q) >= 1;
            assert(k.open.contains(q) && (t2.taken)(q) >= 1);
        }
    }
    assert forall|x: Key| #[trigger] is_consumed(t2, x) implies exists|k: Key| #[trigger]
        t2.seen.contains(k) && row(k) == x && left_for_good(t2, k) by {
        if x == r {
            let k = choose|k: Key| #[trigger] t.seen.contains(k) && row(k) == r;
            assert(left_for_good(t, k));
            assert(t2.seen.contains(k) && left_for_good(t2, k));
        } else {
            assert(cell(t2.w, x) == cell(t.w, x));
            assert(is_consumed(t, x));
            let k = choose|k: Key| #[trigger] t.seen.contains(k) && row(k) == x && left_for_good(t, k);
            assert(t2.seen.contains(k) && left_for_good(t2, k));
        }
    }
    assert(cell(t2.w, row(t2.at)) == cell(t.w, row(t.at)));
    assert(!is_consumed(t, row(t.at)));
    assert forall|x: Key, f: u64| #[trigger] t2.confirmed.contains((x, f)) implies f <= cell(
        t2.w,
        x,
    ).claim.last && forall|a: u64| #[trigger] holds(cell(t2.w, x).claim, a, f) ==> x == row(t2.at) by {
        assert(t.confirmed.contains((x, f)));
        old_holder(t.w, s, x, f);
    }
}

pub proof fn happen_keeps(t: Thread, e: Event)
    requires
        tinv(t),
        can(t, e),
    ensures
        tinv(happen(t, e)),
{
    match e {
        Event::Other { step } => other_keeps(t, step),
        Event::Confirm { worker, r, fence } => confirm_keeps(t, worker, r, fence),
        Event::Move { run } => move_keeps(t, run),
        Event::Tidy { r, owner, fence } => tidy_keeps(t, r, owner, fence),
    }
}

pub open spec fn lawful(t: Thread, es: Seq<Event>) -> bool
    decreases es.len(),
{
    es.len() == 0 || (lawful(t, es.drop_last()) && can(after(t, es.drop_last()), es.last()))
}

pub open spec fn after(t: Thread, es: Seq<Event>) -> Thread
    decreases es.len(),
{
    if es.len() == 0 { t } else { happen(after(t, es.drop_last()), es.last()) }
}

pub proof fn theorem_reachable_thread(at: Key, next_question: nat, es: Seq<Event>)
    requires
        forall|q: nat| #[trigger] at.open.contains(q) ==> q < next_question,
        lawful(start(at, next_question), es),
    ensures
        tinv(after(start(at, next_question), es)),
    decreases es.len(),
{
    if es.len() == 0 {
        start_inv(at, next_question);
    } else {
        theorem_reachable_thread(at, next_question, es.drop_last());
        happen_keeps(after(start(at, next_question), es.drop_last()), es.last());
    }
}

/// One question, one authority taken; and of the holders that may run there is one.
pub proof fn theorem_question_once(t: Thread, q: nat, k: Key, a: u64, f: u64, m: Key, b: u64, g: u64)
    requires
        tinv(t),
    ensures
        (t.taken)(q) <= 1,
        holds(cell(t.w, row(k)).claim, a, f) && t.confirmed.contains((row(k), f)) && holds(
            cell(t.w, row(m)).claim,
            b,
            g,
        ) && t.confirmed.contains((row(m), g)) ==> row(k) == row(t.at) && a == b && f == g,
{
}

/// The open question can be taken whatever became of the earlier ones, and by whom it is taken can run.
pub proof fn theorem_next_question_not_blocked(t: Thread, a: u64, lease: u64)
    requires
        tinv(t),
        belief(t.w, a) is Idle,
        cell(t.w, row(t.at)).claim.last < u64::MAX,
        cell(t.w, row(t.at)).claim.state is Free || (cell(t.w, row(t.at)).claim.state is Held && t.w.now
            >= cell(t.w, row(t.at)).claim.state->Held_lease_end),
    ensures
        !is_consumed(t, row(t.at)),
        ({
            let s = Step::Acquire { worker: a, key: row(t.at), lease };
            let t1 = Thread { w: step(t.w, s), ..t };
            let f = cell(t1.w, row(t.at)).claim.last;
            &&& enabled(t.w, s)
            &&& can(t1, Event::Confirm { worker: a, r: row(t.at), fence: f })
            &&& holds(cell(t1.w, row(t.at)).claim, a, f)
        }),
{
    assert(cell_inv(cell(t.w, row(t.at)), t.w.now));
}

} // verus!
