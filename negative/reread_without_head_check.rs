// REJECTED. Theorem: confirm_sees_head, on which theorem_question_once of claim_reread.rs rests (CO). Changed: a granted run goes on without looking whether the head still has the row it claimed. Expected: postcondition: a holder of a row the thread has left may run.
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/claim.rs"]
mod claim;
#[path = "../proof/claim_spec.rs"]
mod claim_spec;
#[path = "../proof/claim_system.rs"]
mod claim_system;
#[path = "../proof/claim_reread.rs"]
mod claim_reread;

use claim::*;
use claim_spec::*;
use claim_system::*;
use claim_reread::*;
use vstd::prelude::*;

verus! {

/// What a holder must have seen before it may run.
pub open spec fn head_matches(t: Thread, r: Key) -> bool {
    true // CHANGED from: r == row(t.at)
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

/// What a holder saw when it read the head again.
proof fn confirm_sees_head(t: Thread, worker: u64, r: Key, fence: u64)
    requires
        tinv(t),
        can(t, Event::Confirm { worker, r, fence }),
    ensures
        forall|a: u64| #[trigger] holds(cell(t.w, r).claim, a, fence) ==> r == row(t.at), // FAILS
{
}

pub open spec fn lawful(t: Thread, es: Seq<Event>) -> bool
    decreases es.len(),
{
    es.len() == 0 || (lawful(t, es.drop_last()) && can(after(t, es.drop_last()), es.last()))
}

} // verus!

// The wrong rule breaks the promise: a run of it, step by step. The twin has no such run.
verus! {

pub open spec fn reached(t: Thread) -> bool {
    exists|es: Seq<Event>, at: Key| #[trigger] lawful(start(at, 2), es) && after(start(at, 2), es) == t
}

proof fn then(t: Thread, e: Event) -> (t2: Thread)
    requires
        reached(t),
        can(t, e),
    ensures
        t2 == happen(t, e),
        reached(t2),
{
    let (es, at) = choose|es: Seq<Event>, at: Key| #[trigger] lawful(start(at, 2), es) && after(start(at, 2), es) == t;
    assert(es.push(e).drop_last() =~= es);
    assert(lawful(start(at, 2), es.push(e)) && after(start(at, 2), es.push(e)) == happen(t, e));
    happen(t, e)
}

pub open spec fn k1() -> Key {
    Key { checkpoint: 0, open: Set::<nat>::empty().insert(1), recorded: 0 }
}

pub open spec fn answer(worker: u64, fence: u64) -> Move {
    Move {
        worker, fence, from: k1(), answers: Set::<nat>::empty().insert(1),
        asked: Set::<nat>::empty(), next_question: 2, moved: true, to: fence as nat,
    }
}

/// Worker 1's answer has landed; its claim is still held.
proof fn landed() -> (t: Thread)
    ensures
        reached(t),
        (t.taken)(1) == 1,
        t.seen.contains(k1()),
        t.at.checkpoint == 1,
        t.next_question == 2,
        cell(t.w, k1()).claim == (Claim { state: State::Held { owner: 1, fence: 1, lease_end: 5 }, last: 1 }),
        belief(t.w, 9) is Idle,
        t.w.now == 0,
        forall|k: Key| #[trigger] cell(t.w, k).consumptions == 0,
{
    let t0 = start(k1(), 2);
    assert(lawful(start(k1(), 2), Seq::<Event>::empty()) && after(start(k1(), 2), Seq::<Event>::empty()) == t0);
    assert(row(k1()) == k1());
    let t1 = then(t0, Event::Other { step: Step::Acquire { worker: 1, key: k1(), lease: 5 } });
    let t2 = then(t1, Event::Confirm { worker: 1, r: k1(), fence: 1 });
    assert(holds(cell(t2.w, k1()).claim, 1, 1));
    assert(answer(1, 1).answers.contains(1));
    then(t2, Event::Move { run: answer(1, 1) })
}

/// Worker 1 died before it could consume; a late reader takes question 1 again.
pub proof fn it_really_breaks()
    ensures
        exists|t: Thread| #[trigger] reached(t) && (t.taken)(1) == 2,
{
    let t3 = landed();
    assert(row(k1()) == k1());
    let t4 = then(t3, Event::Other { step: Step::Tick { to: 5 } });
    assert(cell(t4.w, k1()) == cell(t3.w, k1()));
    let t5 = then(t4, Event::Other { step: Step::Acquire { worker: 9, key: k1(), lease: 5 } });
    let t6 = then(t5, Event::Confirm { worker: 9, r: k1(), fence: 2 });
    assert(holds(cell(t6.w, k1()).claim, 9, 2));
    assert(answer(9, 2).answers.contains(1));
    let t7 = then(t6, Event::Move { run: answer(9, 2) });
    assert((t7.taken)(1) == 2);
}

} // verus!
