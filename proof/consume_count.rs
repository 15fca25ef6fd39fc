// R11: counting consumptions. The contract machine with a counter beside it and, if enabled, one racer
// that read `waiting` before the first consumption landed. With the racer off CO-c is an invariant.
use super::contract::*;
use vstd::prelude::*;

verus! {

pub struct S11 {
    pub s: S,
    pub consumes: nat,
}

pub struct Race {
    pub enabled: bool,
    pub fires: bool,    // the racer's consumption fires the gated effect
}

pub enum Act11 {
    Base { act: Act },
    Racer { v: int },
}

pub open spec fn init11(c: Consts) -> S11 {
    S11 { s: init(c), consumes: 0 }
}

pub open spec fn can11(c: Consts, r: Race, x: S11, a: Act11) -> bool {
    match a {
        Act11::Base { act } => can(c, x.s, act),
        Act11::Racer { v } => r.enabled && x.consumes == 1 && !x.s.waiting && x.s.pc == c.ip + 1
            && c.values.contains(v),
    }
}

pub open spec fn race(c: Consts, r: Race, s: S, v: int) -> S {
    S {
        fork_vals: s.fork_vals.push(v),
        fork_outs: s.fork_outs.push(v),
        effects: if r.fires { fire(s, c.ip) } else { s.effects },
        ..s
    }
}

pub open spec fn next11(c: Consts, r: Race, x: S11, a: Act11) -> S11 {
    match a {
        Act11::Base { act } => S11 {
            s: next(c, x.s, act),
            consumes: if act is Consume { x.consumes + 1 } else { x.consumes },
        },
        Act11::Racer { v } => S11 { s: race(c, r, x.s, v), consumes: 2 },
    }
}

/// CO-c: authority is taken from the interrupt at most once.
pub open spec fn coc_holds(x: S11) -> bool {
    x.consumes <= 1
}

/// What CO-c rests on: an authority was taken iff an answer is on record.
pub open spec fn taken_iff_answered(x: S11) -> bool {
    x.consumes == (if x.s.consumed is Some { 1nat } else { 0nat })
}

pub open spec fn inv11(c: Consts, x: S11) -> bool {
    inv(c, x.s) && taken_iff_answered(x)
}

/// The racer does not exist.
pub open spec fn no_race(r: Race) -> bool {
    !r.enabled
}

pub proof fn init_inv11(c: Consts)
    requires
        shape(c),
        reference(c),
    ensures
        inv11(c, init11(c)),
{
    init_inv(c);
}

pub proof fn base_keeps_count(c: Consts, r: Race, x: S11, act: Act)
    requires
        shape(c),
        reference(c),
        inv11(c, x),
        can11(c, r, x, Act11::Base { act }),
    ensures
        taken_iff_answered(next11(c, r, x, Act11::Base { act })),
{
}

pub proof fn racer_keeps_count(c: Consts, r: Race, x: S11, v: int)
    requires
        shape(c),
        reference(c),
        no_race(r),
        inv11(c, x),
        can11(c, r, x, Act11::Racer { v }),
    ensures
        taken_iff_answered(next11(c, r, x, Act11::Racer { v })),
{
}

pub proof fn next_keeps11(c: Consts, r: Race, x: S11, a: Act11)
    requires
        shape(c),
        reference(c),
        no_race(r),
        inv11(c, x),
        can11(c, r, x, a),
    ensures
        inv11(c, next11(c, r, x, a)),
{
    match a {
        Act11::Base { act } => {
            next_keeps(c, x.s, act);
            base_keeps_count(c, r, x, act);
        },
        Act11::Racer { v } => racer_keeps_count(c, r, x, v),
    }
}

pub open spec fn lawful11(c: Consts, r: Race, acts: Seq<Act11>) -> bool
    decreases acts.len(),
{
    acts.len() == 0 || (lawful11(c, r, acts.drop_last()) && can11(
        c,
        r,
        after11(c, r, acts.drop_last()),
        acts.last(),
    ))
}

pub open spec fn after11(c: Consts, r: Race, acts: Seq<Act11>) -> S11
    decreases acts.len(),
{
    if acts.len() == 0 { init11(c) } else { next11(c, r, after11(c, r, acts.drop_last()), acts.last()) }
}

/// With the racer off, CO-c and CO-e hold in every state that any sequence of actions reaches.
pub proof fn theorem_consume_count(c: Consts, r: Race, acts: Seq<Act11>)
    requires
        shape(c),
        reference(c),
        no_race(r),
        lawful11(c, r, acts),
    ensures
        inv11(c, after11(c, r, acts)),
        coc_holds(after11(c, r, acts)),
        co_holds(c, after11(c, r, acts).s),
    decreases acts.len(),
{
    if acts.len() == 0 {
        init_inv11(c);
    } else {
        theorem_consume_count(c, r, acts.drop_last());
        next_keeps11(c, r, after11(c, r, acts.drop_last()), acts.last());
    }
    inv_implies_contract(c, after11(c, r, acts).s);
}

/// The counter adds nothing to the base: the same state behind the same actions.
pub proof fn theorem_counter_is_ghost(c: Consts, r: Race, x: S11, act: Act)
    ensures
        can11(c, r, x, Act11::Base { act }) == can(c, x.s, act),
        next11(c, r, x, Act11::Base { act }).s == next(c, x.s, act),
{
}

// ---------------------------------------------------------------------------------------------
// With the racer on, CO-c is false, and nothing of the base contract shows it when the gate is
// idempotent: a checked counterexample.
// ---------------------------------------------------------------------------------------------

pub proof fn witness_racer(c: Consts, r: Race)
    requires
        c.n == 3,
        c.ip == 2,
        c.values.contains(1),
        c.values.contains(2),
        reference(c),
        r.enabled,
    ensures
        exists|acts: Seq<Act11>| #[trigger] lawful11(c, r, acts) && !coc_holds(after11(c, r, acts))
            && (r.fires <==> !co_holds(c, after11(c, r, acts).s)) && pc_holds(after11(c, r, acts).s)
            && fd_holds(after11(c, r, acts).s) && cv_holds(after11(c, r, acts).s),
{
    let a0 = Seq::<Act11>::empty();
    let a1 = a0.push(Act11::Base { act: Act::Exec });
    let a2 = a1.push(Act11::Base { act: Act::Emit });
    let a3 = a2.push(Act11::Base { act: Act::Consume { v: 1 } });
    let a4 = a3.push(Act11::Racer { v: 2 });
    assert(a1.drop_last() =~= a0);
    assert(a2.drop_last() =~= a1);
    assert(a3.drop_last() =~= a2);
    assert(a4.drop_last() =~= a3);
    let s0 = after11(c, r, a0);
    let s1 = after11(c, r, a1);
    let s2 = after11(c, r, a2);
    let s3 = after11(c, r, a3);
    let s4 = after11(c, r, a4);
    assert(s0 == init11(c) && lawful11(c, r, a0));
    assert(s1 == next11(c, r, s0, Act11::Base { act: Act::Exec }) && lawful11(c, r, a1));
    assert(s2 == next11(c, r, s1, Act11::Base { act: Act::Emit }) && lawful11(c, r, a2));
    assert(s3 == next11(c, r, s2, Act11::Base { act: Act::Consume { v: 1 } }) && lawful11(c, r, a3));
    assert(s4 == next11(c, r, s3, Act11::Racer { v: 2 }) && lawful11(c, r, a4));
}

} // verus!
