// A run that crashes while it is parked: ResumeContractParked on top of contract.rs, without bounds. Where the parking is
// durable the contract holds and every fair behaviour completes; where it is volatile all safety holds, because
// nothing happens any more.
use super::contract::*;
use vstd::prelude::*;

verus! {

pub struct P {
    pub s: S,
    pub lost: bool,    // the run is beyond restoring
}

pub enum ActP {
    Base { act: Act },
    CrashParked { decision: Decision },
}

pub open spec fn init_p(c: Consts) -> P {
    P { s: init(c), lost: false }
}

pub open spec fn can_p(c: Consts, p: P, a: ActP) -> bool {
    match a {
        ActP::Base { act } => (act is Stutter || !p.lost) && can(c, p.s, act),
        ActP::CrashParked { decision } => p.s.waiting && chosen(c, decision),
    }
}

/// Recovery decides as it does elsewhere. Durable parking: `Skip` lands back in the park.
pub open spec fn crash_parked(c: Consts, durable: bool, p: P, d: Decision) -> P {
    P {
        s: S {
            pc: if d is Skip || !durable { p.s.pc } else { restart_at(c, p.s, d) },
            waiting: d is Skip && durable,
            rec_hist: p.s.rec_hist.push((p.s.dur, d)),
            crashes: p.s.crashes + 1,
            ..p.s
        },
        lost: !durable,
    }
}

pub open spec fn next_p(c: Consts, durable: bool, p: P, a: ActP) -> P {
    match a {
        ActP::Base { act } => P { s: next(c, p.s, act), lost: p.lost },
        ActP::CrashParked { decision } => crash_parked(c, durable, p, decision),
    }
}

pub open spec fn inv_p(c: Consts, durable: bool, p: P) -> bool {
    inv(c, p.s) && (durable ==> !p.lost)
}

pub proof fn init_inv_p(c: Consts, durable: bool)
    requires
        shape(c),
        reference(c),
    ensures
        inv_p(c, durable, init_p(c)),
{
    init_inv(c);
}

pub proof fn crash_parked_keeps(c: Consts, durable: bool, p: P, d: Decision)
    requires
        shape(c),
        reference(c),
        inv(c, p.s),
        can_p(c, p, ActP::CrashParked { decision: d }),
    ensures
        type_ok(c, crash_parked(c, durable, p, d).s),   // TypeOK
        gate(c, crash_parked(c, durable, p, d).s),      // gate
        recorded(crash_parked(c, durable, p, d).s),     // log
        frontier(crash_parked(c, durable, p, d).s),     // PC
        pc_holds(crash_parked(c, durable, p, d).s),     // PC
        counted(c, crash_parked(c, durable, p, d).s),   // EO CO
        fd_holds(crash_parked(c, durable, p, d).s),     // FD
        cv_holds(crash_parked(c, durable, p, d).s),     // CV
        one_rule(c, crash_parked(c, durable, p, d).s),  // RD
{
}

pub proof fn next_keeps_p(c: Consts, durable: bool, p: P, a: ActP)
    requires
        shape(c),
        reference(c),
        inv_p(c, durable, p),
        can_p(c, p, a),
    ensures
        inv_p(c, durable, next_p(c, durable, p, a)),
{
    match a {
        ActP::Base { act } => next_keeps(c, p.s, act),
        ActP::CrashParked { decision } => crash_parked_keeps(c, durable, p, decision),
    }
}

pub open spec fn lawful_p(c: Consts, durable: bool, acts: Seq<ActP>) -> bool
    decreases acts.len(),
{
    acts.len() == 0 || (lawful_p(c, durable, acts.drop_last()) && can_p(
        c,
        after_p(c, durable, acts.drop_last()),
        acts.last(),
    ))
}

pub open spec fn after_p(c: Consts, durable: bool, acts: Seq<ActP>) -> P
    decreases acts.len(),
{
    if acts.len() == 0 { init_p(c) } else { next_p(c, durable, after_p(c, durable, acts.drop_last()), acts.last()) }
}

/// The contract holds in every state that any sequence of actions reaches, however the parking is kept.
pub proof fn theorem_contract_parked(c: Consts, durable: bool, acts: Seq<ActP>)
    requires
        shape(c),
        reference(c),
        lawful_p(c, durable, acts),
    ensures
        inv_p(c, durable, after_p(c, durable, acts)),
        pc_holds(after_p(c, durable, acts).s),
        eo_holds(c, after_p(c, durable, acts).s),
        fd_holds(after_p(c, durable, acts).s),
        cv_holds(after_p(c, durable, acts).s),
        co_holds(c, after_p(c, durable, acts).s),
        rd_holds(after_p(c, durable, acts).s),
    decreases acts.len(),
{
    if acts.len() == 0 {
        init_inv_p(c, durable);
    } else {
        theorem_contract_parked(c, durable, acts.drop_last());
        next_keeps_p(c, durable, after_p(c, durable, acts.drop_last()), acts.last());
    }
    inv_implies_contract(c, after_p(c, durable, acts).s);
}

/// Volatile parking: after the crash nothing happens for ever, and the run is not done.
pub proof fn theorem_volatile_parking_is_dead(c: Consts, p: P, d: Decision, a: ActP)
    requires
        shape(c),
        reference(c),
        inv(c, p.s),
        can_p(c, p, ActP::CrashParked { decision: d }),
    ensures
        inv(c, crash_parked(c, false, p, d).s),
        !done(c, crash_parked(c, false, p, d).s),
        can_p(c, crash_parked(c, false, p, d), a) ==> next_p(c, false, crash_parked(c, false, p, d), a) == crash_parked(
            c,
            false,
            p,
            d,
        ),
{
    crash_parked_keeps(c, false, p, d);
}

// ---------------------------------------------------------------------------------------------
// Progress, with durable parking
// ---------------------------------------------------------------------------------------------

/// The pending interrupt is part of the durable state.
pub open spec fn parks_durably(durable: bool) -> bool {
    durable
}

/// A run that crashed while parked can be answered.
pub proof fn theorem_parked_crash_can_be_answered(c: Consts, durable: bool, p: P, d: Decision)
    requires
        shape(c),
        reference(c),
        parks_durably(durable),
        inv(c, p.s),
        can_p(c, p, ActP::CrashParked { decision: d }),
    ensures
        !crash_parked(c, durable, p, d).lost && can_consume_some(c, crash_parked(c, durable, p, d).s),
{
    let v = choose|v: int| c.values.contains(v);
    if can_consume(c, crash_parked(c, durable, p, d).s, v) {
        assert(can_consume_some(c, crash_parked(c, durable, p, d).s));
    }
}

pub open spec fn progress_p(a: ActP) -> bool {
    match a {
        ActP::Base { act } => progress(act),
        ActP::CrashParked { decision: _ } => false,
    }
}

pub proof fn theorem_rank_p(c: Consts, p: P, a: ActP)
    requires
        shape(c),
        reference(c),
        inv_p(c, true, p),
        can_p(c, p, a),
    ensures
        rank(c, p.s) >= 0,
        progress_p(a) ==> rank(c, next_p(c, true, p, a).s) < rank(c, p.s),
        !progress_p(a) ==> rank(c, next_p(c, true, p, a).s) == rank(c, p.s),
        !progress_p(a) ==> can_exec(c, next_p(c, true, p, a).s) == can_exec(c, p.s),
        !progress_p(a) ==> can_emit(c, next_p(c, true, p, a).s) == can_emit(c, p.s),
        !progress_p(a) ==> next_p(c, true, p, a).s.waiting == p.s.waiting,
{
    match a {
        ActP::Base { act } => theorem_rank(c, p.s, act),
        ActP::CrashParked { decision } => {},
    }
}

// ---------------------------------------------------------------------------------------------
// EventuallyCompletes: the argument of contract.rs, with one more kind of step that is no progress
// ---------------------------------------------------------------------------------------------

pub struct BehaviourP {
    pub at: spec_fn(nat) -> P,
    pub act: spec_fn(nat) -> ActP,
}

pub open spec fn behaves_p(c: Consts, b: BehaviourP) -> bool {
    &&& (b.at)(0) == init_p(c)
    &&& forall|i: nat|
        can_p(c, #[trigger] (b.at)(i), (b.act)(i)) && (b.at)(i + 1) == next_p(c, true, (b.at)(i), (b.act)(i))
}

pub open spec fn always_from_p(p: spec_fn(S) -> bool, b: BehaviourP, i: nat) -> bool {
    forall|j: nat| j >= i ==> !(#[trigger] (b.at)(j)).lost && p((b.at)(j).s)
}

pub open spec fn taken_from_p(k: spec_fn(Act) -> bool, b: BehaviourP, i: nat) -> bool {
    exists|j: nat| j >= i && takes_p(k, #[trigger] (b.act)(j))
}

pub open spec fn takes_p(k: spec_fn(Act) -> bool, a: ActP) -> bool {
    match a {
        ActP::Base { act } => k(act),
        ActP::CrashParked { decision: _ } => false,
    }
}

pub open spec fn weakly_fair_p(p: spec_fn(S) -> bool, k: spec_fn(Act) -> bool, b: BehaviourP) -> bool {
    forall|i: nat| #[trigger] always_from_p(p, b, i) ==> taken_from_p(k, b, i)
}

pub open spec fn fair_p(c: Consts, b: BehaviourP) -> bool {
    &&& weakly_fair_p(p_exec(c), k_exec(), b)
    &&& weakly_fair_p(p_emit(c), k_emit(), b)
    &&& weakly_fair_p(p_consume(c), k_consume(), b)
}

proof fn behaviour_inv_p(c: Consts, b: BehaviourP, i: nat)
    requires
        shape(c),
        reference(c),
        behaves_p(c, b),
    ensures
        inv_p(c, true, (b.at)(i)),
    decreases i,
{
    if i == 0 {
        init_inv_p(c, true);
    } else {
        let j = (i - 1) as nat;
        behaviour_inv_p(c, b, j);
        assert(can_p(c, (b.at)(j), (b.act)(j)));
        next_keeps_p(c, true, (b.at)(j), (b.act)(j));
        assert((b.at)(j + 1) == next_p(c, true, (b.at)(j), (b.act)(j)));
    }
}

/// If no progress is made in i..j, rank and enabledness stand still.
proof fn stands_still_p(c: Consts, b: BehaviourP, i: nat, j: nat)
    requires
        shape(c),
        reference(c),
        behaves_p(c, b),
        i <= j,
        forall|l: nat| i <= l < j ==> !progress_p(#[trigger] (b.act)(l)),
    ensures
        rank(c, (b.at)(j).s) == rank(c, (b.at)(i).s),
        can_exec(c, (b.at)(j).s) == can_exec(c, (b.at)(i).s),
        can_emit(c, (b.at)(j).s) == can_emit(c, (b.at)(i).s),
        (b.at)(j).s.waiting == (b.at)(i).s.waiting,
    decreases j - i,
{
    if i < j {
        let l = (j - 1) as nat;
        stands_still_p(c, b, i, l);
        behaviour_inv_p(c, b, l);
        assert(can_p(c, (b.at)(l), (b.act)(l)));
        assert(!progress_p((b.act)(l)));
        theorem_rank_p(c, (b.at)(l), (b.act)(l));
        assert((b.at)(l + 1) == next_p(c, true, (b.at)(l), (b.act)(l)));
        assert(l + 1 == j);
    }
}

/// From a state that is not done, progress is made some time.
proof fn moves_on_p(c: Consts, b: BehaviourP, i: nat) -> (j: nat)
    requires
        shape(c),
        reference(c),
        behaves_p(c, b),
        fair_p(c, b),
        !done(c, (b.at)(i).s),
    ensures
        j >= i,
        progress_p((b.act)(j)),
        forall|l: nat| i <= l < j ==> !progress_p(#[trigger] (b.act)(l)),
{
    if forall|l: nat| l >= i ==> !progress_p(#[trigger] (b.act)(l)) {
        behaviour_inv_p(c, b, i);
        theorem_enabled(c, (b.at)(i).s);
        assert forall|j: nat| j >= i implies !(#[trigger] (b.at)(j)).lost && can_exec(c, (b.at)(j).s) == can_exec(
            c,
            (b.at)(i).s,
        ) && can_emit(c, (b.at)(j).s) == can_emit(c, (b.at)(i).s) && (b.at)(j).s.waiting == (b.at)(i).s.waiting by {
            stands_still_p(c, b, i, j);
            behaviour_inv_p(c, b, j);
        }
        if can_exec(c, (b.at)(i).s) {
            assert(always_from_p(p_exec(c), b, i));
            assert(taken_from_p(k_exec(), b, i));
        } else if can_emit(c, (b.at)(i).s) {
            assert(always_from_p(p_emit(c), b, i));
            assert(taken_from_p(k_emit(), b, i));
        } else {
            let v = choose|v: int| #[trigger] can_consume(c, (b.at)(i).s, v);
            assert forall|j: nat| j >= i implies !(#[trigger] (b.at)(j)).lost && (p_consume(c))((b.at)(j).s) by {
                assert(can_consume(c, (b.at)(j).s, v));
            }
            assert(always_from_p(p_consume(c), b, i));
            assert(taken_from_p(k_consume(), b, i));
        }
        assert(false);
    }
    let j0 = choose|l: nat| l >= i && progress_p(#[trigger] (b.act)(l));
    first_progress_p(b, i, j0)
}

proof fn first_progress_p(b: BehaviourP, i: nat, j: nat) -> (m: nat)
    requires
        i <= j,
        progress_p((b.act)(j)),
    ensures
        i <= m <= j,
        progress_p((b.act)(m)),
        forall|l: nat| i <= l < m ==> !progress_p(#[trigger] (b.act)(l)),
    decreases j - i,
{
    if progress_p((b.act)(i)) { i } else { first_progress_p(b, i + 1, j) }
}

proof fn completes_from_p(c: Consts, b: BehaviourP, i: nat) -> (d: nat)
    requires
        shape(c),
        reference(c),
        behaves_p(c, b),
        fair_p(c, b),
    ensures
        done(c, (b.at)(d).s),
    decreases rank(c, (b.at)(i).s),
{
    if done(c, (b.at)(i).s) {
        i
    } else {
        let j = moves_on_p(c, b, i);
        stands_still_p(c, b, i, j);
        behaviour_inv_p(c, b, j);
        assert(can_p(c, (b.at)(j), (b.act)(j)));
        theorem_rank_p(c, (b.at)(j), (b.act)(j));
        assert((b.at)(j + 1) == next_p(c, true, (b.at)(j), (b.act)(j)));
        behaviour_inv_p(c, b, j + 1);
        completes_from_p(c, b, j + 1)
    }
}

/// With durable parking every fair behaviour completes, however often it crashes, parked or not.
pub proof fn theorem_eventually_completes_parked(c: Consts, b: BehaviourP)
    requires
        shape(c),
        reference(c),
        behaves_p(c, b),
        fair_p(c, b),
    ensures
        exists|d: nat| done(c, (#[trigger] (b.at)(d)).s),
{
    let d = completes_from_p(c, b, 0);
    assert(done(c, (b.at)(d).s));
}

/// WITNESS: a run parks, crashes, lands in the park again and is answered.
pub proof fn witness_parked_crash(c: Consts)
    requires
        c.n == 2,
        c.ip == 1,
        c.values.contains(1),
        reference(c),
    ensures
        exists|acts: Seq<ActP>| #[trigger] lawful_p(c, true, acts) && after_p(c, true, acts).s.crashes == 1 && after_p(
            c,
            true,
            acts,
        ).s.consumed == Some(1int),
{
    let a0 = Seq::<ActP>::empty();
    let a1 = a0.push(ActP::Base { act: Act::Emit });
    let a2 = a1.push(ActP::CrashParked { decision: Decision::Skip });
    let a3 = a2.push(ActP::Base { act: Act::Consume { v: 1 } });
    assert(a1.drop_last() =~= a0);
    assert(a2.drop_last() =~= a1);
    assert(a3.drop_last() =~= a2);
    let s0 = after_p(c, true, a0);
    let s1 = after_p(c, true, a1);
    let s2 = after_p(c, true, a2);
    let s3 = after_p(c, true, a3);
    assert(s0 == init_p(c) && lawful_p(c, true, a0));
    assert(s1 == next_p(c, true, s0, ActP::Base { act: Act::Emit }) && lawful_p(c, true, a1));
    assert(s2 == next_p(c, true, s1, ActP::CrashParked { decision: Decision::Skip }) && lawful_p(c, true, a2));
    assert(s3 == next_p(c, true, s2, ActP::Base { act: Act::Consume { v: 1 } }) && lawful_p(c, true, a3));
}

} // verus!
