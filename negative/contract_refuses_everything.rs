// REJECTED. Theorem: theorem_enabled, on which theorem_eventually_completes rests (live). Changed: a plane that refuses every answer: safe, and dead. Expected: postcondition: a parked run has no enabled step (every safety lemma of the file still verifies).
#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../proof/contract.rs"]
mod contract;

use contract::*;
use vstd::prelude::*;

verus! {

pub open spec fn can_consume(c: Consts, s: S, v: int) -> bool {
    s.waiting && c.values.contains(v) && false // CHANGED from: s.waiting && c.values.contains(v)
}

pub open spec fn can(c: Consts, s: S, a: Act) -> bool {
    match a {
        Act::Exec => can_exec(c, s),
        Act::Emit => can_emit(c, s),
        Act::Consume { v } => can_consume(c, s, v),
        Act::Fork { v } => can_fork(c, s, v),
        Act::Crash { decision } => can_crash(c, s, decision),
        Act::Extra => can_extra(c, s),
        Act::Stutter => true,
    }
}

pub proof fn consume_keeps(c: Consts, s: S, v: int)
    requires
        shape(c),
        reference(c),
        inv(c, s),
        can_consume(c, s, v),
    ensures
        type_ok(c, consume(c, s, v)),   // TypeOK
        gate(c, consume(c, s, v)),      // gate
        recorded(consume(c, s, v)),     // log
        frontier(consume(c, s, v)),     // PC
        pc_holds(consume(c, s, v)),     // PC
        counted(c, consume(c, s, v)),   // EO CO
        fd_holds(consume(c, s, v)),     // FD
        cv_holds(consume(c, s, v)),     // CV
        one_rule(c, consume(c, s, v)),  // RD
{
    assert(s.effects[c.ip - 1] == (if c.ip <= s.dur { 1nat } else { 0nat }));
}

// Runs

pub proof fn next_keeps(c: Consts, s: S, a: Act)
    requires
        shape(c),
        reference(c),
        inv(c, s),
        can(c, s, a),
    ensures
        inv(c, next(c, s, a)),
{
    match a {
        Act::Exec => exec_keeps(c, s),
        Act::Emit => emit_keeps(c, s),
        Act::Consume { v } => consume_keeps(c, s, v),
        Act::Fork { v } => fork_keeps(c, s, v),
        Act::Crash { decision } => crash_keeps(c, s, decision),
        Act::Extra => extra_keeps(c, s),
        Act::Stutter => {},
    }
}

pub open spec fn lawful(c: Consts, acts: Seq<Act>) -> bool
    decreases acts.len(),
{
    acts.len() == 0 || (lawful(c, acts.drop_last()) && can(
        c,
        after(c, acts.drop_last()),
        acts.last(),
    ))
}

/// The contract holds in every state that any sequence of actions reaches.
pub proof fn theorem_contract(c: Consts, acts: Seq<Act>)
    requires
        shape(c),
        reference(c),
        lawful(c, acts),
    ensures
        inv(c, after(c, acts)),
        type_ok(c, after(c, acts)),
        pc_holds(after(c, acts)),
        eo_holds(c, after(c, acts)),
        fd_holds(after(c, acts)),
        cv_holds(after(c, acts)),
        co_holds(c, after(c, acts)),
        rd_holds(after(c, acts)),
    decreases acts.len(),
{
    if acts.len() == 0 {
        init_inv(c);
    } else {
        theorem_contract(c, acts.drop_last());
        next_keeps(c, after(c, acts.drop_last()), acts.last());
    }
    inv_implies_contract(c, after(c, acts));
}

// Progress

pub open spec fn can_consume_some(c: Consts, s: S) -> bool {
    exists|v: int| #[trigger] can_consume(c, s, v)
}

/// A run that is not done has an enabled step that makes progress, and exactly one kind of it.
pub proof fn theorem_enabled(c: Consts, s: S)
    requires
        shape(c),
        inv(c, s),
        !done(c, s),
    ensures
        can_exec(c, s) || can_emit(c, s) || can_consume_some(c, s), // FAILS
        !(can_exec(c, s) && can_emit(c, s)),
        !(can_exec(c, s) && can_consume_some(c, s)),
        !(can_emit(c, s) && can_consume_some(c, s)),
{
    let v = choose|v: int| c.values.contains(v);
    if can_consume(c, s, v) {
        assert(can_consume_some(c, s));
    }
}

} // verus!

// The wrong rule breaks the promise: a run of it, step by step. The twin has no such run.
verus! {

/// A run parked at its first task satisfies every safety property and has no step that goes on.
pub proof fn it_really_breaks(c: Consts)
    requires
        shape(c),
        reference(c),
        c.ip == 1,
    ensures
        can_emit(c, init(c)),
        inv(c, emit(init(c))),
        !done(c, emit(init(c))),
        !can_exec(c, emit(init(c))),
        !can_emit(c, emit(init(c))),
        !can_consume_some(c, emit(init(c))),
{
    init_inv(c);
    emit_keeps(c, init(c));
}

} // verus!
