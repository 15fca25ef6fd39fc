// REJECTED. Theorem: settle_current_open, on which theorem_next_question_not_blocked rests (CO). Changed: the claim is keyed by the checkpoint alone. Expected: postcondition: question 2 at the same checkpoint finds its claim consumed by question 1, stuck for ever.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/claim.rs"]
mod claim;
#[path = "../proof/claim_spec.rs"]
mod claim_spec;
#[path = "../proof/claim_system.rs"]
mod claim_system;
#[path = "../proof/claim_keys.rs"]
mod claim_keys;

use claim::*;
use claim_spec::*;
use claim_system::*;
use claim_keys::*;
use vstd::prelude::*;

verus! {

/// The row that a run started at position `k` claims: the checkpoint and the open questions, nothing else.
pub open spec fn row(k: Key) -> Key {
    Key { checkpoint: k.checkpoint, open: Set::empty(), recorded: 0 } // CHANGED from: Key { checkpoint: k.checkpoint, open: k.open, recorded: 0 }
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

/// (6) The next question has another row than every question that was answered.
proof fn settle_current_open(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
        positions_ok(settle(t, s)),
        consumed_is_left(settle(t, s)),
    ensures
        current_open(settle(t, s)), // FAILS
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

} // verus!

// The wrong rule breaks the promise: a run of it, step by step. The twin has no such run.
verus! {

/// Question 2 of the same checkpoint is open, unanswered, and nobody can ever take it.
pub proof fn it_really_breaks(a: u64, now: u64, lease: u64)
    ensures
        exists|t: Thread, s: Settle| #![trigger settle(t, s)]
            tinv(t) && settle_enabled(t, s) && settle(t, s).at.open.contains(2) && (settle(t, s).taken)(2) == 0
                && next(cell(settle(t, s).w, row(settle(t, s).at)).claim, Input::Acquire { owner: a, now, lease }).1
                is AlreadyConsumed,
{
    let q1 = Set::<nat>::empty().insert(1);
    let q2 = Set::<nat>::empty().insert(2);
    let k1 = Key { checkpoint: 0, open: q1, recorded: 0 };
    let t0 = start(k1, 2);
    start_inv(k1, 2);
    let a1 = Step::Acquire { worker: 1, key: row(k1), lease: 5 };
    let t1 = other(t0, a1);
    other_keeps(t0, a1);
    let s = Settle { worker: 1, fence: 1, from: k1, answers: q1, asked: q2, next_question: 3, moved: false, to: 0 };
    assert(s.answers.contains(1));
    assert(holds(cell(t1.w, row(k1)).claim, 1, 1));
    assert(settle_enabled(t1, s));
    let t2 = settle(t1, s);
    assert(row(t2.at) == row(k1));
    assert(cell(t2.w, row(k1)).claim.state is Consumed);
}

} // verus!
