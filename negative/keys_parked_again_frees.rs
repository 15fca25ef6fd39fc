// REJECTED. Theorem: settle_old_consumed, on which theorem_holder_is_current and theorem_question_once of claim_keys.rs rest (CO). Changed: a run that recorded an answer and parked again releases its claim instead of consuming it. Expected: postcondition: the row just left is free, a slow reader of that position takes the same authority again.
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

pub open spec fn fate(s: Settle) -> Fate {
    if s.moved { Fate::Put } else { Fate::ParkedAgain { answered: false } } // CHANGED from: if s.moved { Fate::Put } else { Fate::ParkedAgain { answered: true } }
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

/// The row just settled is consumed: a reader that saw it before cannot take it again.
proof fn settle_old_consumed(t: Thread, s: Settle)
    requires
        tinv(t),
        settle_enabled(t, s),
        row(s.from) == row(t.at),
    ensures
        is_consumed(settle(t, s), row(t.at)), // FAILS
{
}

pub open spec fn happen(t: Thread, e: Event) -> Thread {
    match e {
        Event::Settle { run } => settle(t, run),
        Event::Record { recorded } => record(t, recorded),
        Event::Other { step } => other(t, step),
    }
}

} // verus!

// The wrong rule breaks the promise: a run of it, step by step. The twin has no such run.
verus! {

/// A reader of the first position takes question 1 a second time, after its answer was recorded.
pub proof fn it_really_breaks()
    ensures
        exists|t: Thread, e1: Event, e2: Event, e3: Event, e4: Event| #![trigger can(t, e1), can(happen(t, e1), e2),
            can(happen(happen(t, e1), e2), e3), can(happen(happen(happen(t, e1), e2), e3), e4)]
            t == start(t.at, 2) && tinv(t) && can(t, e1) && can(happen(t, e1), e2) && can(happen(happen(t, e1), e2), e3)
                && can(happen(happen(happen(t, e1), e2), e3), e4)
                && (happen(happen(happen(happen(t, e1), e2), e3), e4).taken)(1) == 2,
{
    let q1 = Set::<nat>::empty().insert(1);
    let q2 = Set::<nat>::empty().insert(2);
    let k1 = Key { checkpoint: 0, open: q1, recorded: 0 };
    let t0 = start(k1, 2);
    start_inv(k1, 2);
    let e1 = Event::Other { step: Step::Acquire { worker: 1, key: row(k1), lease: 5 } };
    let t1 = happen(t0, e1);
    let s = Settle { worker: 1, fence: 1, from: k1, answers: q1, asked: q2, next_question: 3, moved: false, to: 0 };
    assert(s.answers.contains(1));
    assert(holds(cell(t1.w, row(k1)).claim, 1, 1));
    assert(settle_enabled(t1, s));
    let e2 = Event::Settle { run: s };
    let t2 = happen(t1, e2);
    assert(cell(t2.w, row(k1)).claim.state is Free && cell(t2.w, row(k1)).claim.last == 1);
    let e3 = Event::Other { step: Step::Acquire { worker: 9, key: row(k1), lease: 5 } };
    let t3 = happen(t2, e3);
    let s2 = Settle { worker: 9, fence: 2, from: k1, answers: q1, asked: q2, next_question: 3, moved: true, to: 1 };
    let s3 = Settle { asked: Set::empty(), ..s2 };
    assert(s3.answers.contains(1));
    assert(holds(cell(t3.w, row(k1)).claim, 9, 2));
    let e4 = Event::Settle { run: s3 };
    assert(can(t0, e1));
    assert(can(t1, e2));
    assert(can(t2, e3));
    assert(can(t3, e4));
    assert((happen(t3, e4).taken)(1) == 2);
}

} // verus!
