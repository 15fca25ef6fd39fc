// Sometimes: the machines do reach what their theorems speak of, so that no theorem is empty. Each run
// below is checked step by step. (contract: a fair behaviour exists, so EventuallyCompletes is not empty.)
use vstd::prelude::*;

verus! {

mod workers {
    use crate::claim::*;
    use crate::claim_spec::*;
    use crate::claim_system::*;
    use vstd::prelude::*;

    proof fn from_start() -> (w: World)
        ensures
            w == init(),
            reached(w),
    {
        assert(legal(init(), Seq::<Step>::empty()) && run(init(), Seq::<Step>::empty()) == init());
        init()
    }

    pub open spec fn reached(w: World) -> bool {
        exists|steps: Seq<Step>| #[trigger] legal(init(), steps) && run(init(), steps) == w
    }

    proof fn then(w: World, s: Step) -> (w2: World)
        requires
            reached(w),
            enabled(w, s),
        ensures
            w2 == step(w, s),
            reached(w2),
    {
        let steps = choose|steps: Seq<Step>| #[trigger] legal(init(), steps) && run(init(), steps) == w;
        assert(steps.push(s).drop_last() =~= steps);
        assert(legal(init(), steps.push(s)) && run(init(), steps.push(s)) == step(w, s));
        step(w, s)
    }

    /// A worker is stopped, its lease runs out, another takes over; the first wakes up and its consumption is
    /// refused; the second consumes.
    pub proof fn sometimes_stale_owner_wakes_up(k: Key)
        ensures
            exists|w: World, w2: World| #[trigger]
                reached(w) && #[trigger] reached(w2) && {
                    &&& belief(w, 1) == (Belief::Running { key: k, fence: 1 })
                    &&& belief(w, 2) == (Belief::Running { key: k, fence: 2 })
                    &&& next(cell(w, k).claim, Input::Consume { owner: 1, fence: 1 }).1 is Stale
                    &&& w2 == step(step(w, Step::Consume { worker: 1 }), Step::Consume { worker: 2 })
                    &&& cell(w2, k).claim.state == (State::Consumed { fence: 2 })
                },
    {
        let w0 = from_start();
        let w1 = then(w0, Step::Acquire { worker: 1, key: k, lease: 10 });
        let w2 = then(w1, Step::Stop { worker: 1 });
        let w3 = then(w2, Step::Tick { to: 10 });
        let w4 = then(w3, Step::Acquire { worker: 2, key: k, lease: 10 });
        let w5 = then(w4, Step::Wake { worker: 1 });
        assert(cell(w4, k).claim.state == (State::Held { owner: 2, fence: 2, lease_end: 20 }));
        assert(cell(w5, k) == cell(w4, k));
        assert(belief(w5, 1) == (Belief::Running { key: k, fence: 1 }));
        assert(belief(w5, 2) == (Belief::Running { key: k, fence: 2 }));
        let w6 = then(w5, Step::Consume { worker: 1 });
        let w7 = then(w6, Step::Consume { worker: 2 });
        assert(reached(w5) && reached(w7));
    }

    /// A failed run gives the claim back and another worker has it at once, the lease still running.
    pub proof fn sometimes_failure_frees_at_once(k: Key)
        ensures
            exists|w: World| #[trigger]
                reached(w) && w.now == 0 && holds(cell(w, k).claim, 2, 2) && cell(w, k).revoked.contains(1),
    {
        let w0 = from_start();
        let w1 = then(w0, Step::Acquire { worker: 1, key: k, lease: 10 });
        let w2 = then(w1, Step::Release { worker: 1, why: Why::Failed });
        let w3 = then(w2, Step::Acquire { worker: 2, key: k, lease: 10 });
        assert(reached(w3) && holds(cell(w3, k).claim, 2, 2));
    }
}

mod thread {
    use crate::claim::*;
    use crate::claim_spec::*;
    use crate::claim_system::*;
    use crate::claim_keys::*;
    use vstd::prelude::*;

    pub open spec fn q1() -> Set<nat> {
        Set::empty().insert(1nat)
    }

    pub open spec fn q2() -> Set<nat> {
        Set::empty().insert(2nat)
    }

    /// Two questions of one node: question 1 is answered, the run parks again at the same checkpoint with
    /// question 2, a slow reader of the first position is refused, and question 2 is answered.
    pub proof fn sometimes_two_questions_at_one_checkpoint()
        ensures
            exists|t: Thread, t2: Thread|
                {
                    &&& #[trigger] tinv(t)
                    &&& #[trigger] tinv(t2)
                    &&& t.at.checkpoint == 0 && t2.at.checkpoint == 1
                    &&& (t.taken)(1) == 1 && (t.taken)(2) == 0
                    &&& (t2.taken)(1) == 1 && (t2.taken)(2) == 1
                    &&& next(
                        cell(t.w, Key { checkpoint: 0, open: q1(), recorded: 0 }).claim,
                        Input::Acquire { owner: 9, now: t.w.now, lease: 5 },
                    ).1 is AlreadyConsumed
                },
    {
        let k1 = Key { checkpoint: 0, open: q1(), recorded: 0 };
        let k2 = Key { checkpoint: 0, open: q2(), recorded: 0 };
        let t0 = start(k1, 2);
        start_inv(k1, 2);
        let a1 = Step::Acquire { worker: 1, key: k1, lease: 5 };
        assert(row(k1) == k1);
        let t1 = other(t0, a1);
        other_keeps(t0, a1);
        assert(holds(cell(t1.w, k1).claim, 1, 1));
        let s1 = Settle {
            worker: 1, fence: 1, from: k1, answers: q1(), asked: q2(), next_question: 3, moved: false, to: 0,
        };
        assert(s1.answers.contains(1));
        assert(settle_enabled(t1, s1));
        settle_keeps(t1, s1);
        let t2 = settle(t1, s1);
        assert(t2.at.open =~= q2());
        assert(t2.at == k2);
        assert(cell(t2.w, k1).claim.state is Consumed);
        assert(!q1().contains(2) && q2().contains(2));
        assert(k1 != k2);
        let a2 = Step::Acquire { worker: 2, key: k2, lease: 5 };
        assert(cell(t2.w, k2) == fresh_cell());
        let t3 = other(t2, a2);
        other_keeps(t2, a2);
        assert(holds(cell(t3.w, k2).claim, 2, 1));
        let s2 = Settle {
            worker: 2, fence: 1, from: k2, answers: q2(), asked: Set::empty(), next_question: 3, moved: true, to: 1,
        };
        assert(settle_enabled(t3, s2));
        settle_keeps(t3, s2);
        let t4 = settle(t3, s2);
        assert(tinv(t2) && tinv(t4));
    }
}

mod fairness {
    use crate::contract::*;
    use vstd::prelude::*;

    pub open spec fn greedy(c: Consts, s: S) -> Act {
        if can_exec(c, s) { Act::Exec } else if can_emit(c, s) { Act::Emit } else if can_consume_some(c, s) {
            Act::Consume { v: choose|v: int| #[trigger] can_consume(c, s, v) }
        } else { Act::Stutter }
    }

    pub open spec fn at(c: Consts, i: nat) -> S
        decreases i,
    {
        if i == 0 { init(c) } else {
            let s = at(c, (i - 1) as nat);
            next(c, s, greedy(c, s))
        }
    }

    pub open spec fn behaviour(c: Consts) -> Behaviour {
        Behaviour { at: |i: nat| at(c, i), act: |i: nat| greedy(c, at(c, i)) }
    }

    /// A fair behaviour exists, for every configuration.
    pub proof fn fair_behaviour_exists(c: Consts)
        requires
            shape(c),
            reference(c),
        ensures
            exists|b: Behaviour| #[trigger] behaves(c, b) && fair(c, b),
    {
        let b = behaviour(c);
        assert forall|i: nat|
            can(c, #[trigger] (b.at)(i), (b.act)(i)) && (b.at)(i + 1) == next(c, (b.at)(i), (b.act)(i)) by {
            let s = at(c, i);
            assert(at(c, i + 1) == next(c, s, greedy(c, s)));
        }
        assert(behaves(c, b));
        assert forall|i: nat| #[trigger] always_from(p_exec(c), b, i) implies taken_from(k_exec(), b, i) by {
            assert(p_exec(c)((b.at)(i)));
            assert(k_exec()((b.act)(i)));
        }
        assert forall|i: nat| #[trigger] always_from(p_emit(c), b, i) implies taken_from(k_emit(), b, i) by {
            assert(p_emit(c)((b.at)(i)));
            assert(k_emit()((b.act)(i)));
        }
        assert forall|i: nat| #[trigger] always_from(p_consume(c), b, i) implies taken_from(k_consume(), b, i) by {
            assert(p_consume(c)((b.at)(i)));
            assert((b.at)(i).waiting);
            assert(k_consume()((b.act)(i)));
        }
        assert(fair(c, b));
    }
}

} // verus!
