// REJECTED. Theorem: record_only_current, on which theorem_one_holder_per_thread rests. Changed: the key also names what is recorded beside the open questions (a failed answer, the answer of a run in flight). Expected: postcondition: two rows of one authority can be taken, by a reader before and a reader after the record.
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
    Key { checkpoint: k.checkpoint, open: k.open, recorded: k.recorded } // CHANGED from: Key { checkpoint: k.checkpoint, open: k.open, recorded: 0 }
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

/// What a failed or running task leaves on record does not make a second claim of the same authority.
proof fn record_only_current(t: Thread, recorded: nat)
    requires
        tinv(t),
    ensures
        only_current_takeable(record(t, recorded)), // FAILS
{
    let t2 = record(t, recorded);
    assert forall|k: Key| #[trigger] t2.seen.contains(k) && k != t2.at implies t.seen.contains(k) by {}
    assert(forall|r: Key| #[trigger] is_consumed(t2, r) == is_consumed(t, r));
}

} // verus!

// The wrong rule breaks the promise: a run of it, step by step. The twin has no such run.
verus! {

/// Two workers hold two rows of one authority: one read before the record, one after.
pub proof fn it_really_breaks()
    ensures
        exists|t: Thread, m: Key| #![trigger t.seen.contains(m)]
            t.seen.contains(m) && t.seen.contains(t.at) && m.open == t.at.open && m.checkpoint == t.at.checkpoint
                && holds(cell(t.w, row(m)).claim, 1, 1) && holds(cell(t.w, row(t.at)).claim, 2, 1),
{
    let q1 = Set::<nat>::empty().insert(1);
    let k1 = Key { checkpoint: 0, open: q1, recorded: 0 };
    let t0 = start(k1, 2);
    start_inv(k1, 2);
    let t1 = other(t0, Step::Acquire { worker: 1, key: row(k1), lease: 5 });
    let t2 = record(t1, 1);
    assert(row(t2.at) != row(k1));
    let t3 = other(t2, Step::Acquire { worker: 2, key: row(t2.at), lease: 5 });
    assert(holds(cell(t3.w, row(k1)).claim, 1, 1));
    assert(holds(cell(t3.w, row(t3.at)).claim, 2, 1));
    assert(t3.seen.contains(k1) && t3.seen.contains(t3.at));
}

} // verus!
