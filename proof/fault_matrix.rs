// The fault matrix without bounds: for each promise, the exact switches under which it survives
// (proved for any number of tasks, answers, resumes, crashes and strays and for any combination of the
// other switches), and for every other cell a checked run that breaks it.
use super::contract::*;
use vstd::prelude::*;

verus! {

// ---------------------------------------------------------------------------------------------
// Cells that hold
// ---------------------------------------------------------------------------------------------

/// FD depends on `fork_ignore` alone.
pub proof fn theorem_fd(c: Consts, acts: Seq<Act>)
    requires
        !c.faults.fork_ignore,
        lawful(c, acts),
    ensures
        fd_holds(after(c, acts)),
    decreases acts.len(),
{
    if acts.len() > 0 {
        theorem_fd(c, acts.drop_last());
    }
}

/// CV depends on `invalid_persist` alone.
pub proof fn theorem_cv(c: Consts, acts: Seq<Act>)
    requires
        !c.faults.invalid_persist,
        lawful(c, acts),
    ensures
        cv_holds(after(c, acts)),
    decreases acts.len(),
{
    if acts.len() > 0 {
        theorem_cv(c, acts.drop_last());
    }
}

/// RD depends on `nondet_recovery` alone: a replaying plane decides wrongly, but always the same.
pub proof fn theorem_rd(c: Consts, acts: Seq<Act>)
    requires
        !c.faults.nondet_recovery,
        lawful(c, acts),
    ensures
        one_rule(c, after(c, acts)),
        rd_holds(after(c, acts)),
    decreases acts.len(),
{
    let s = after(c, acts);
    if acts.len() > 0 {
        theorem_rd(c, acts.drop_last());
    }
    assert forall|i: int, j: int|
        0 <= i < s.rec_hist.len() && 0 <= j < s.rec_hist.len() && (#[trigger] s.rec_hist[i]).0 == (
        #[trigger] s.rec_hist[j]).0 implies s.rec_hist[i].1 == s.rec_hist[j].1 by {
        assert(s.rec_hist[i].1 is Reexec <==> s.rec_hist[j].1 is Reexec);
    }
}

/// The plane never restarts before its frontier.
pub open spec fn goes_on(c: Consts) -> bool {
    !c.faults.replay && !c.faults.nondet_recovery && !c.faults.prefix_replay
}

pub open spec fn positions(c: Consts, s: S) -> bool {
    &&& s.effects.len() == c.n
    &&& frontier(s)
    &&& pc_holds(s)
    &&& s.waiting ==> s.pc == c.ip && s.consumed is None
    &&& s.consumed is Some <==> s.dur >= c.ip
}

/// PC holds whenever recovery goes on from the frontier, whatever else is broken.
pub proof fn theorem_pc(c: Consts, acts: Seq<Act>)
    requires
        shape(c),
        goes_on(c),
        lawful(c, acts),
    ensures
        positions(c, after(c, acts)),
        pc_holds(after(c, acts)),
    decreases acts.len(),
{
    if acts.len() > 0 {
        theorem_pc(c, acts.drop_last());
    }
}

/// EO holds whenever recovery goes on from the frontier and strays are inert.
pub proof fn theorem_eo(c: Consts, acts: Seq<Act>)
    requires
        shape(c),
        goes_on(c),
        !c.faults.double_consume,
        lawful(c, acts),
    ensures
        counted(c, after(c, acts)),
        eo_holds(c, after(c, acts)),
    decreases acts.len(),
{
    theorem_pc(c, acts);
    if acts.len() > 0 {
        theorem_eo(c, acts.drop_last());
        theorem_pc(c, acts.drop_last());
        let s = after(c, acts.drop_last());
        assert(1 <= s.pc <= c.n ==> s.effects[s.pc - 1] == (if s.pc <= s.dur { 1nat } else { 0nat }));
        assert(s.effects[c.ip - 1] == (if c.ip <= s.dur { 1nat } else { 0nat }));
    }
}

pub open spec fn gate_counted(c: Consts, s: S) -> bool {
    &&& s.effects.len() == c.n
    &&& s.waiting ==> s.consumed is None
    &&& s.effects[c.ip - 1] == (if s.consumed is Some { 1nat } else { 0nat })
}

/// CO survives a replay from the start if the gated effect is served from the record, and otherwise
/// holds whenever recovery goes on from the frontier; strays must be inert.
pub proof fn theorem_co(c: Consts, acts: Seq<Act>)
    requires
        shape(c),
        goes_on(c) || c.faults.prefix_replay,
        !c.faults.double_consume,
        lawful(c, acts),
    ensures
        gate_counted(c, after(c, acts)),
        co_holds(c, after(c, acts)),
    decreases acts.len(),
{
    if acts.len() > 0 {
        theorem_co(c, acts.drop_last());
        if goes_on(c) {
            theorem_pc(c, acts.drop_last());
        }
    }
}

// ---------------------------------------------------------------------------------------------
// Cells that break: runs of the smallest configuration, checked step by step
// ---------------------------------------------------------------------------------------------

pub open spec fn small(c: Consts) -> bool {
    c.n == 3 && c.ip == 2 && c.values.contains(1) && c.values.contains(2)
}

pub open spec fn healthy() -> Faults {
    Faults {
        replay: false,
        fork_ignore: false,
        invalid_persist: false,
        nondet_recovery: false,
        double_consume: false,
        prefix_replay: false,
    }
}

proof fn from_start(c: Consts) -> (s: S)
    ensures
        s == init(c),
        reachable(c, s),
{
    assert(lawful(c, Seq::<Act>::empty()) && after(c, Seq::<Act>::empty()) == init(c));
    init(c)
}

proof fn then(c: Consts, s: S, a: Act) -> (t: S)
    requires
        reachable(c, s),
        can(c, s, a),
    ensures
        t == next(c, s, a),
        reachable(c, t),
{
    let acts = choose|acts: Seq<Act>| #[trigger] lawful(c, acts) && after(c, acts) == s;
    assert(acts.push(a).drop_last() =~= acts);
    assert(lawful(c, acts.push(a)) && after(c, acts.push(a)) == next(c, s, a));
    next(c, s, a)
}

/// PC, EO: Task 1 is executed, the run crashes and starts over: task 1 fires again.
pub proof fn witness_replay_pc_eo(c: Consts)
    requires
        small(c),
        c.faults == (Faults { replay: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !pc_holds(s) && !eo_holds(c, s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Crash { decision: Decision::Reexec });
    let s3 = then(c, s2, Act::Exec);
    assert(s3.effects[0] == 2);
    assert(reachable(c, s3) && !pc_holds(s3) && !eo_holds(c, s3));
}

/// CO: Replayed across the gate, the answer being on record: the gated effect fires again.
pub proof fn witness_replay_co(c: Consts)
    requires
        small(c),
        c.faults == (Faults { replay: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !co_holds(c, s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Emit);
    let s3 = then(c, s2, Act::Consume { v: 1 });
    let s4 = then(c, s3, Act::Crash { decision: Decision::Reexec });
    let s5 = then(c, s4, Act::Exec);
    let s6 = then(c, s5, Act::Exec);
    assert(reachable(c, s6) && !co_holds(c, s6));
}

/// PC, EO: The last durable task is executed again.
pub proof fn witness_nondet_recovery_pc_eo(c: Consts)
    requires
        small(c),
        c.faults == (Faults { nondet_recovery: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !pc_holds(s) && !eo_holds(c, s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Crash { decision: Decision::Reexec });
    let s3 = then(c, s2, Act::Exec);
    assert(s3.effects[0] == 2);
    assert(reachable(c, s3) && !pc_holds(s3) && !eo_holds(c, s3));
}

/// CO: The same with the gated task.
pub proof fn witness_nondet_recovery_co(c: Consts)
    requires
        small(c),
        c.faults == (Faults { nondet_recovery: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !co_holds(c, s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Emit);
    let s3 = then(c, s2, Act::Consume { v: 1 });
    let s4 = then(c, s3, Act::Crash { decision: Decision::Reexec });
    let s5 = then(c, s4, Act::Exec);
    assert(reachable(c, s5) && !co_holds(c, s5));
}

/// RD: Two crashes at one durable state, two decisions.
pub proof fn witness_nondet_recovery_rd(c: Consts)
    requires
        small(c),
        c.faults == (Faults { nondet_recovery: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !rd_holds(s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Crash { decision: Decision::Skip });
    let s3 = then(c, s2, Act::Crash { decision: Decision::Reexec });
    assert(s3.rec_hist[0].0 == s3.rec_hist[1].0 && s3.rec_hist[0].1 != s3.rec_hist[1].1);
    assert(reachable(c, s3) && !rd_holds(s3));
}

/// FD: The second answer is served the first outcome.
pub proof fn witness_fork_ignore_fd(c: Consts)
    requires
        small(c),
        c.faults == (Faults { fork_ignore: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !fd_holds(s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Emit);
    let s3 = then(c, s2, Act::Consume { v: 1 });
    let s4 = then(c, s3, Act::Fork { v: 2 });
    assert(s4.fork_outs[1] != s4.fork_vals[1]);
    assert(reachable(c, s4) && !fd_holds(s4));
}

/// CV: The last record is invalid and durable.
pub proof fn witness_invalid_persist_cv(c: Consts)
    requires
        small(c),
        c.faults == (Faults { invalid_persist: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !cv_holds(s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Emit);
    let s3 = then(c, s2, Act::Consume { v: 1 });
    let s4 = then(c, s3, Act::Exec);
    assert(!s4.log[2].valid);
    assert(reachable(c, s4) && !cv_holds(s4));
}

/// EO, CO: A stray to a completed run fires the gate.
pub proof fn witness_double_consume_eo_co(c: Consts)
    requires
        small(c),
        c.faults == (Faults { double_consume: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !eo_holds(c, s) && !co_holds(c, s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Emit);
    let s3 = then(c, s2, Act::Consume { v: 1 });
    let s4 = then(c, s3, Act::Exec);
    let s5 = then(c, s4, Act::Extra);
    assert(s5.effects[1] == 2);
    assert(reachable(c, s5) && !eo_holds(c, s5) && !co_holds(c, s5));
}

/// PC, EO: Task 1 fires again, though the gated effect is served from the record.
pub proof fn witness_prefix_replay_pc_eo(c: Consts)
    requires
        small(c),
        c.faults == (Faults { prefix_replay: true, ..healthy() }),
    ensures
        exists|s: S| #[trigger] reachable(c, s) && !pc_holds(s) && !eo_holds(c, s),
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Crash { decision: Decision::Reexec });
    let s3 = then(c, s2, Act::Exec);
    assert(s3.effects[0] == 2);
    assert(reachable(c, s3) && !pc_holds(s3) && !eo_holds(c, s3));
}

/// R9W: under `prefix_replay` the gate is crossed again, task 1 fired twice, the gated effect once.
pub proof fn witness_gate_exercised(c: Consts)
    requires
        small(c),
        c.faults == (Faults { prefix_replay: true, ..healthy() }),
    ensures
        exists|s: S|
            #[trigger] reachable(c, s) && s.consumed is Some && s.rec_hist.contains(
                (2nat, Decision::Reexec),
            ) && s.pc == c.ip + 1 && s.effects[0] > 1 && s.effects[1] == 1,
{
    let s0 = from_start(c);
    let s1 = then(c, s0, Act::Exec);
    let s2 = then(c, s1, Act::Emit);
    let s3 = then(c, s2, Act::Consume { v: 1 });
    let s4 = then(c, s3, Act::Crash { decision: Decision::Reexec });
    let s5 = then(c, s4, Act::Exec);
    let s6 = then(c, s5, Act::Exec);
    assert(s6.rec_hist[0] == (2nat, Decision::Reexec));
    assert(reachable(c, s6));
}

} // verus!
