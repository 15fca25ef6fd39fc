// A thread that parks, is answered, parks again and moves on, over the claim system of claim_system.rs:
// the next question never meets the previous question's claim, each question is answered once, and a
// reader that is late by any amount answers the question that is open now or is refused.
use super::claim::*;
use super::claim_spec::*;
use super::claim_system::*;
use vstd::prelude::*;

verus! {

/// A position is what a reader sees: the checkpoint, the questions open there, what else is recorded.
/// Question ids never repeat (in the product: the task, and how many answers it had when it asked).
pub struct Thread {
    pub w: World,
    pub at: Key,                      // where the thread stands now
    pub seen: Set<Key>,               // every position anybody can have read
    pub next_question: nat,
    pub taken: spec_fn(nat) -> nat,   // times the authority of a question was taken
}

/// The row that a run started at position `k` claims: the checkpoint and the open questions, nothing else.
pub open spec fn row(k: Key) -> Key {
    Key { checkpoint: k.checkpoint, open: k.open, recorded: 0 }
}

pub open spec fn is_consumed(t: Thread, r: Key) -> bool {
    cell(t.w, r).claim.state is Consumed
}

pub open spec fn start(at: Key, next_question: nat) -> Thread {
    Thread { w: init(), at, seen: Set::empty().insert(at), next_question, taken: |q: nat| 0 }
}

pub open spec fn below(s: Set<nat>, n: nat) -> bool {
    forall|q: nat| #[trigger] s.contains(q) ==> q < n
}

pub open spec fn between(s: Set<nat>, lo: nat, hi: nat) -> bool {
    lo <= hi && forall|q: nat| #[trigger] s.contains(q) ==> lo <= q < hi
}

// ---------------------------------------------------------------------------------------------
// Events
// ---------------------------------------------------------------------------------------------

/// A run ends and settles its claim. `from`: the position it read, perhaps long ago. `answers`: the
/// questions whose answers it recorded for good. `asked`: questions raised since. `moved`: it wrote the
/// checkpoint `to` (also without answers: a new input, an update, a breakpoint passed); otherwise it
/// parked again at the same checkpoint, as a node with two questions does.
pub struct Settle {
    pub worker: u64,
    pub fence: u64,
    pub from: Key,
    pub answers: Set<nat>,
    pub asked: Set<nat>,
    pub next_question: nat,
    pub moved: bool,
    pub to: nat,
}

pub open spec fn fate(s: Settle) -> Fate {
    if s.moved { Fate::Put } else { Fate::ParkedAgain { answered: true } }
}

pub open spec fn next_open(s: Settle) -> Set<nat> {
    if s.moved { s.asked } else { s.from.open.difference(s.answers).union(s.asked) }
}

pub open spec fn settle_enabled(t: Thread, s: Settle) -> bool {
    &&& t.seen.contains(s.from)
    &&& belief(t.w, s.worker) == (Belief::Running { key: row(s.from), fence: s.fence })
    &&& holds(cell(t.w, row(s.from)).claim, s.worker, s.fence)
    &&& s.moved || exists|q: nat| s.answers.contains(q)
    &&& s.moved ==> s.to > t.at.checkpoint
    &&& forall|q: nat| #[trigger] s.answers.contains(q) ==> s.from.open.contains(q)
    &&& between(s.asked, t.next_question, s.next_question)
}

pub open spec fn settle(t: Thread, s: Settle) -> Thread {
    let i = word_spec(s.worker, s.fence, fate(s));
    let w1 = step(t.w, Step::Deliver { key: row(s.from), input: i });
    let at = Key {
        checkpoint: if s.moved { s.to } else { s.from.checkpoint },
        open: next_open(s),
        recorded: 0,
    };
    Thread {
        w: step(w1, Step::Crash { worker: s.worker }),
        at,
        seen: t.seen.insert(at),
        next_question: s.next_question,
        taken: |q: nat| if s.answers.contains(q) { (t.taken)(q) + 1 } else { (t.taken)(q) },
    }
}

/// What is recorded beside the open questions changes: a run in flight, or one that failed, left its
/// answer. Nobody's authority is taken by that.
pub open spec fn record(t: Thread, recorded: nat) -> Thread {
    let at = Key { recorded, ..t.at };
    Thread { at, seen: t.seen.insert(at), ..t }
}

/// Everything else: any step of the claim system that settles nothing.
pub open spec fn other_enabled(t: Thread, s: Step) -> bool {
    &&& enabled(t.w, s)
    &&& forall|k: Key|
        (#[trigger] cell(step(t.w, s), k)).consumptions == cell(t.w, k).consumptions
}

pub open spec fn other(t: Thread, s: Step) -> Thread {
    Thread { w: step(t.w, s), ..t }
}

// ---------------------------------------------------------------------------------------------
// Invariant
// ---------------------------------------------------------------------------------------------

/// The thread can never stand at this position again.
pub open spec fn left_for_good(t: Thread, k: Key) -> bool {
    k.checkpoint < t.at.checkpoint || exists|q: nat| #[trigger] k.open.contains(q) && (t.taken)(q) >= 1
}

pub open spec fn positions_ok(t: Thread) -> bool {
    &&& t.seen.contains(t.at)
    &&& below(t.at.open, t.next_question)
    &&& forall|q: nat| #[trigger] t.at.open.contains(q) ==> (t.taken)(q) == 0
    &&& forall|q: nat| (#[trigger] (t.taken)(q)) <= 1
    &&& forall|q: nat| (#[trigger] (t.taken)(q)) >= 1 ==> q < t.next_question
    &&& forall|k: Key| #[trigger] t.seen.contains(k) ==> k.checkpoint <= t.at.checkpoint
}

/// Of all rows anybody can have read, only the current one can still be taken.
pub open spec fn only_current_takeable(t: Thread) -> bool {
    forall|k: Key| #[trigger] t.seen.contains(k) ==> row(k) == row(t.at) || is_consumed(t, row(k))
}

/// Only positions left for good are consumed.
pub open spec fn consumed_is_left(t: Thread) -> bool {
    forall|r: Key| #[trigger] is_consumed(t, r) ==> exists|k: Key| #[trigger]
        t.seen.contains(k) && row(k) == r && left_for_good(t, k)
}

/// The question that is open now can be answered.
pub open spec fn current_open(t: Thread) -> bool {
    !is_consumed(t, row(t.at))
}

pub open spec fn tinv(t: Thread) -> bool {
    inv(t.w) && positions_ok(t) && only_current_takeable(t) && consumed_is_left(t) && current_open(t)
}

pub proof fn start_inv(at: Key, next_question: nat)
    requires
        below(at.open, next_question),
    ensures
        tinv(start(at, next_question)),
{
    init_inv();
}

/// Whoever holds a claim of this thread holds the current one, however late it read.
pub proof fn theorem_holder_is_current(t: Thread, k: Key, a: u64, f: u64)
    requires
        tinv(t),
        t.seen.contains(k),
        holds(cell(t.w, row(k)).claim, a, f),
    ensures
        row(k) == row(t.at),
{
    assert(!is_consumed(t, row(k)));
}

proof fn settle_world(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
    ensures
        inv(settle(t, s).w),
        forall|r: Key| r != row(s.from) ==> #[trigger] cell(settle(t, s).w, r) == cell(t.w, r),
{
    let i = word_spec(s.worker, s.fence, fate(s));
    let w1 = step(t.w, Step::Deliver { key: row(s.from), input: i });
    step_keeps(t.w, Step::Deliver { key: row(s.from), input: i });
    assert(belief(w1, s.worker) == belief(t.w, s.worker));
    step_keeps(w1, Step::Crash { worker: s.worker });
}

/// The position that is settled has the questions and the checkpoint of the current one.
proof fn settle_from(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
    ensures
        s.from.checkpoint == t.at.checkpoint,
        s.from.open == t.at.open,
        row(s.from) == row(t.at),
{
    theorem_holder_is_current(t, s.from, s.worker, s.fence);
    assert(row(s.from).checkpoint == row(t.at).checkpoint);
    assert(row(s.from).open == row(t.at).open);
}

proof fn settle_positions(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
        s.from.checkpoint == t.at.checkpoint,
        s.from.open == t.at.open,
    ensures
        positions_ok(settle(t, s)),
        left_for_good(settle(t, s), t.at),
        forall|k: Key| #[trigger] left_for_good(t, k) ==> left_for_good(settle(t, s), k),
{
    let t2 = settle(t, s);
    assert forall|q: nat| #[trigger] t2.at.open.contains(q) implies (t2.taken)(q) == 0 && q
        < t2.next_question by {
        if s.asked.contains(q) {
            assert(q >= t.next_question);
            assert((t.taken)(q) == 0);
            assert(!s.answers.contains(q));
        } else {
            assert(t.at.open.contains(q) && !s.answers.contains(q));
        }
    }
    assert forall|q: nat| (#[trigger] (t2.taken)(q)) <= 1 by {
        if s.answers.contains(q) {
            assert(t.at.open.contains(q));
            assert((t.taken)(q) == 0);
        } else {
            assert((t.taken)(q) <= 1);
        }
    }
    assert forall|q: nat| (#[trigger] (t2.taken)(q)) >= 1 implies q < t2.next_question by {
        if s.answers.contains(q) {
            assert(t.at.open.contains(q));
        } else {
            assert((t.taken)(q) >= 1);
        }
    }
    assert forall|k: Key| #[trigger] t2.seen.contains(k) implies k.checkpoint <= t2.at.checkpoint by {
        if k != t2.at {
            assert(t.seen.contains(k));
        }
    }
    if !s.moved {
        let q = choose|q: nat| s.answers.contains(q);
        assert(t.at.open.contains(q) && (t2.taken)(q) >= 1);
    }
    assert forall|k: Key| #[trigger] left_for_good(t, k) implies left_for_good(t2, k) by {
        if !(k.checkpoint < t.at.checkpoint) {
            let q = choose|q: nat| #[trigger] k.open.contains(q) && (t.taken)(q) >= 1;
            assert(k.open.contains(q) && (t2.taken)(q) >= 1);
        }
    }
}

/// The row just settled is consumed: a reader that saw it before cannot take it again.
proof fn settle_old_consumed(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
        row(s.from) == row(t.at),
    ensures
        is_consumed(settle(t, s), row(t.at)),
{
}

proof fn settle_only_current(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
        row(s.from) == row(t.at),
        is_consumed(settle(t, s), row(t.at)),
    ensures
        only_current_takeable(settle(t, s)),
{
    let t2 = settle(t, s);
    settle_world(t, s);
    assert forall|k: Key| #[trigger] t2.seen.contains(k) implies row(k) == row(t2.at) || is_consumed(
        t2,
        row(k),
    ) by {
        if k != t2.at && row(k) != row(t.at) {
            assert(t.seen.contains(k));
            assert(is_consumed(t, row(k)));
            assert(cell(t2.w, row(k)) == cell(t.w, row(k)));
        }
    }
}

proof fn settle_consumed_is_left(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
        s.from.checkpoint == t.at.checkpoint,
        s.from.open == t.at.open,
        row(s.from) == row(t.at),
    ensures
        consumed_is_left(settle(t, s)),
{
    let t2 = settle(t, s);
    settle_world(t, s);
    settle_positions(t, s);
    assert forall|r: Key| #[trigger] is_consumed(t2, r) implies exists|k: Key| #[trigger]
        t2.seen.contains(k) && row(k) == r && left_for_good(t2, k) by {
        if r == row(t.at) {
            assert(t2.seen.contains(t.at) && left_for_good(t2, t.at));
        } else {
            assert(cell(t2.w, r) == cell(t.w, r));
            assert(is_consumed(t, r));
            let k = choose|k: Key| #[trigger]
                t.seen.contains(k) && row(k) == r && left_for_good(t, k);
            assert(t2.seen.contains(k) && left_for_good(t2, k));
        }
    }
}

/// (6) The next question has another row than every question that was answered.
proof fn settle_current_open(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
        positions_ok(settle(t, s)),
        consumed_is_left(settle(t, s)),
    ensures
        current_open(settle(t, s)),
{
    let t2 = settle(t, s);
    if is_consumed(t2, row(t2.at)) {
        let k = choose|k: Key| #[trigger]
            t2.seen.contains(k) && row(k) == row(t2.at) && left_for_good(t2, k);
        if row(k).open == k.open && row(t2.at).open == t2.at.open {
            assert(k.open == t2.at.open);
            assert(row(k).checkpoint == row(t2.at).checkpoint);
        }
    }
}

pub proof fn settle_keeps(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
    ensures
        tinv(settle(t, s)),
{
    settle_from(t, s);
    settle_world(t, s);
    settle_positions(t, s);
    settle_old_consumed(t, s);
    settle_only_current(t, s);
    settle_consumed_is_left(t, s);
    settle_current_open(t, s);
}

/// What a failed or running task leaves on record does not make a second claim of the same authority.
proof fn record_only_current(t: Thread, recorded: nat)
    requires
        tinv(t),
    ensures
        only_current_takeable(record(t, recorded)),
{
    let t2 = record(t, recorded);
    assert forall|k: Key| #[trigger] t2.seen.contains(k) && k != t2.at implies t.seen.contains(k) by {}
    assert(forall|r: Key| #[trigger] is_consumed(t2, r) == is_consumed(t, r));
}

pub proof fn record_keeps(t: Thread, recorded: nat)
    requires
        tinv(t),
    ensures
        tinv(record(t, recorded)),
{
    let t2 = record(t, recorded);
    record_only_current(t, recorded);
    assert forall|k: Key| #[trigger] t2.seen.contains(k) implies k.checkpoint <= t2.at.checkpoint by {
        if k != t2.at {
            assert(t.seen.contains(k));
        }
    }
    assert forall|r: Key| #[trigger] is_consumed(t2, r) implies exists|k: Key| #[trigger]
        t2.seen.contains(k) && row(k) == r && left_for_good(t2, k) by {
        assert(is_consumed(t, r));
        let k = choose|k: Key| #[trigger] t.seen.contains(k) && row(k) == r && left_for_good(t, k);
        still_left(t, t2, k);
        assert(t2.seen.contains(k) && left_for_good(t2, k));
    }
    assert(!is_consumed(t, row(t.at)));
    assert(row(t2.at) == row(t.at));
}

proof fn still_left(t: Thread, t2: Thread, k: Key)
    requires
        left_for_good(t, k),
        t2.at.checkpoint == t.at.checkpoint,
        t2.taken == t.taken,
    ensures
        left_for_good(t2, k),
{
    if !(k.checkpoint < t.at.checkpoint) {
        let q = choose|q: nat| #[trigger] k.open.contains(q) && (t.taken)(q) >= 1;
        assert(k.open.contains(q) && (t2.taken)(q) >= 1);
    }
}

pub proof fn other_keeps(t: Thread, s: Step)
    requires
        tinv(t),
        other_enabled(t, s),
    ensures
        tinv(other(t, s)),
{
    let t2 = other(t, s);
    step_keeps(t.w, s);
    assert forall|r: Key| #[trigger] is_consumed(t2, r) == is_consumed(t, r) by {
        assert(cell_inv(cell(t.w, r), t.w.now));
        assert(cell_inv(cell(t2.w, r), t2.w.now));
    }
    assert forall|k: Key| #[trigger] t2.seen.contains(k) implies row(k) == row(t2.at) || is_consumed(
        t2,
        row(k),
    ) by {
        assert(is_consumed(t2, row(k)) == is_consumed(t, row(k)));
    }
    assert forall|r: Key| #[trigger] is_consumed(t2, r) implies exists|k: Key| #[trigger]
        t2.seen.contains(k) && row(k) == r && left_for_good(t2, k) by {
        assert(is_consumed(t, r));
        let k = choose|k: Key| #[trigger] t.seen.contains(k) && row(k) == r && left_for_good(t, k);
        still_left(t, t2, k);
        assert(t2.seen.contains(k));
    }
    assert(is_consumed(t2, row(t2.at)) == is_consumed(t, row(t.at)));
}

// ---------------------------------------------------------------------------------------------
// Runs and theorems
// ---------------------------------------------------------------------------------------------

pub enum Event {
    Settle { run: Settle },
    Record { recorded: nat },
    Other { step: Step },
}

pub open spec fn can(t: Thread, e: Event) -> bool {
    match e {
        Event::Settle { run } => settle_enabled(t, run),
        Event::Record { recorded: _ } => true,
        Event::Other { step } => other_enabled(t, step),
    }
}

pub open spec fn happen(t: Thread, e: Event) -> Thread {
    match e {
        Event::Settle { run } => settle(t, run),
        Event::Record { recorded } => record(t, recorded),
        Event::Other { step } => other(t, step),
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

pub proof fn happen_keeps(t: Thread, e: Event)
    requires
        tinv(t),
        can(t, e),
    ensures
        tinv(happen(t, e)),
{
    match e {
        Event::Settle { run } => settle_keeps(t, run),
        Event::Record { recorded } => record_keeps(t, recorded),
        Event::Other { step } => other_keeps(t, step),
    }
}

pub proof fn theorem_reachable_thread(at: Key, next_question: nat, es: Seq<Event>)
    requires
        below(at.open, next_question),
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

/// CO-c in terms of questions: the authority of one question is taken at most once, ever.
pub proof fn theorem_question_once(t: Thread, q: nat)
    requires
        tinv(t),
    ensures
        (t.taken)(q) <= 1,
{
}

/// One run at a time: two workers that hold claims of one thread, whatever each of them read, are one.
pub proof fn theorem_one_holder_per_thread(t: Thread, k: Key, a: u64, f: u64, m: Key, b: u64, g: u64)
    requires
        tinv(t),
        t.seen.contains(k),
        t.seen.contains(m),
        holds(cell(t.w, row(k)).claim, a, f),
        holds(cell(t.w, row(m)).claim, b, g),
    ensures
        a == b,
        f == g,
{
    theorem_holder_is_current(t, k, a, f);
    theorem_holder_is_current(t, m, b, g);
}

/// (6) Whatever became of the questions before, the one that is open now can be taken: by a fresh
/// worker, at once if nobody holds it, after a death, or after the lease.
pub proof fn theorem_next_question_not_blocked(t: Thread, a: u64, lease: u64)
    requires
        tinv(t),
        belief(t.w, a) is Idle,
        cell(t.w, row(t.at)).claim.last < u64::MAX,
    ensures
        !(cell(t.w, row(t.at)).claim.state is Consumed),
        cell(t.w, row(t.at)).claim.state is Free ==> takes(t.w, a, row(t.at), lease),
        cell(t.w, row(t.at)).claim.state is Held ==> {
            let c = cell(t.w, row(t.at)).claim.state;
            let end = c->Held_lease_end;
            let wait = Step::Tick { to: if end > t.w.now { end } else { t.w.now } };
            let dead = Step::Deliver {
                key: row(t.at),
                input: Input::DeclareDead { owner: c->Held_owner, fence: c->Held_fence },
            };
            &&& enabled(t.w, wait) && takes(step(t.w, wait), a, row(t.at), lease)
            &&& enabled(t.w, dead) && takes(step(t.w, dead), a, row(t.at), lease)
        },
{
    assert(!is_consumed(t, row(t.at)));
    theorem_not_stuck(t.w, row(t.at), a, lease);
}

} // verus!
