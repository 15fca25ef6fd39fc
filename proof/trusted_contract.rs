//! What is claimed: the statements of the theorems, by promise, and nothing else. Every body is a call of the proof.
//!
//! To trust a statement, read the definitions that its words stand for; the proofs need not be read. What a shipped
//! function itself does is stated at the function (`verus_spec` in `crates/remit-core/src`): ledger, commit, branch and
//! recovery are there in full, `view::view` is `view_spec::view_spec`, `claim::decide` is `claim_spec::next`.
//! A theorem about "any run" speaks of the machine in its module; that the product's stores and its Python code behave
//! like these machines is assumed and tested, not proved.
#![cfg_attr(verus_only, feature(proc_macro_hygiene))]
#![forbid(unsafe_code)]
extern crate alloc;

#[path = "../crates/remit-core/src/answers.rs"]
pub mod answers;
#[path = "answers_spec.rs"]
pub mod answers_spec;
#[path = "../crates/remit-core/src/branch.rs"]
pub mod branch;
#[path = "branch_spec.rs"]
pub mod branch_spec;
#[path = "../crates/remit-core/src/claim.rs"]
pub mod claim;
#[path = "claim_keys.rs"]
pub mod claim_keys;
#[path = "claim_reread.rs"]
pub mod claim_reread;
#[path = "claim_spec.rs"]
pub mod claim_spec;
#[path = "claim_system.rs"]
pub mod claim_system;
#[path = "../crates/remit-core/src/commit.rs"]
pub mod commit;
#[path = "commit_spec.rs"]
pub mod commit_spec;
#[path = "consume_count.rs"]
pub mod consume_count;
#[path = "contract.rs"]
pub mod contract;
#[path = "../crates/remit-core/src/effect.rs"]
pub mod effect;
#[path = "effect_spec.rs"]
pub mod effect_spec;
#[path = "effect_system.rs"]
pub mod effect_system;
#[path = "../crates/remit-core/src/ending.rs"]
pub mod ending;
#[path = "ending_spec.rs"]
pub mod ending_spec;
#[path = "../crates/remit-core/src/explain.rs"]
pub mod explain;
#[path = "explain_spec.rs"]
pub mod explain_spec;
#[path = "fault_matrix.rs"]
pub mod fault_matrix;
#[path = "../crates/remit-core/src/ledger.rs"]
pub mod ledger;
#[path = "ledger_spec.rs"]
pub mod ledger_spec;
#[path = "../crates/remit-core/src/outputs.rs"]
pub mod outputs;
#[path = "outputs_spec.rs"]
pub mod outputs_spec;
#[path = "parked.rs"]
pub mod parked;
#[path = "../crates/remit-core/src/recovery.rs"]
pub mod recovery;
#[path = "recovery_spec.rs"]
pub mod recovery_spec;
#[path = "../crates/remit-core/src/stray.rs"]
pub mod stray;
#[path = "stray_spec.rs"]
pub mod stray_spec;
#[path = "../crates/remit-core/src/view.rs"]
pub mod view;
#[path = "view_spec.rs"]
pub mod view_spec;
#[path = "view_witness.rs"]
pub mod view_witness;
#[path = "witness.rs"]
pub mod witness;
use vstd::prelude::*;

verus! {

/// EO: an effect fires once.
pub mod effects {
    use crate::ledger::*;
    use crate::ledger_spec::*;
    use vstd::prelude::*;

    /// Whatever is asked for, how often and in which order: what was asked for is in the ledger once, nothing else is.
    pub proof fn an_effect_is_admitted_exactly_once(requests: Seq<Record>, r: Record)
        ensures
            count(run(Seq::empty(), requests), r.branch, r.task, r.effect) == if requests.contains(r) {
                1nat
            } else {
                0nat
            },
    {
        theorem_exactly_once(requests, r);
    }

    /// A ledger only grows.
    pub proof fn a_ledger_only_grows(log: Seq<Record>, requests: Seq<Record>)
        ensures
            log.is_prefix_of(run(log, requests)),
    {
        theorem_append_only(log, requests);
    }
}

/// EO: the durable effect, with fencing. Any number of callers, effects and claims, any interleaving of `Step`s.
pub mod durable_effects {
    use crate::claim_system;
    use crate::effect::*;
    use crate::effect_spec::*;
    use crate::effect_system::*;
    use vstd::prelude::*;

    /// When ⟨branch, task, effect, key⟩ is freshly admitted, every earlier admission of it is over without having fired, or
    /// is passed over by the user's wish or a person's word.
    pub proof fn one_admission_is_fresh(steps: Seq<Step>, q: Request, i: int)
        requires
            legal(init(), steps),
            decide_spec(row(run(init(), steps), q.name).effect, input_of(run(init(), steps), q)).1 is Fresh,
            0 <= i < row(run(init(), steps), q.name).admissions.len(),
        ensures
            ({
                let w = run(init(), steps);
                asked(row(w, q.name), q.caller, input_of(w, q)).admissions[i].overruled || void(w, q.name, i)
            }),
    {
        theorem_effects_reachable(steps);
        theorem_one_fresh_admission(run(init(), steps), q, i);
    }

    /// It has fired under two admissions only where the first was passed over by the user's wish or a person's word.
    pub proof fn an_effect_fires_once(steps: Seq<Step>, n: Name, i: int, j: int)
        requires
            legal(init(), steps),
            0 <= i < j < row(run(init(), steps), n).admissions.len(),
            row(run(init(), steps), n).admissions[i].fired is Some,
            row(run(init(), steps), n).admissions[j].fired is Some,
        ensures
            row(run(init(), steps), n).admissions[i].overruled,
    {
        theorem_effects_reachable(steps);
        theorem_fires_once(run(init(), steps), n, i, j);
    }

    /// A recorded result is never lost or changed.
    pub proof fn a_result_is_kept(steps: Seq<Step>, more: Seq<Step>, n: Name)
        requires
            legal(init(), steps),
            legal(run(init(), steps), more),
            row(run(init(), steps), n).effect.state is Done,
        ensures
            ({
                let w = run(init(), steps);
                &&& row(w, n).result is Some
                &&& same_outcome(row(run(w, more), n), row(w, n))
            }),
    {
        theorem_effects_reachable(steps);
        theorem_result_is_what_it_returned(run(init(), steps), n);
        theorem_result_is_kept(run(init(), steps), more, n);
    }

    /// In doubt is exactly: admitted, not done, and whoever was admitted is gone.
    pub proof fn in_doubt_is_admitted_and_gone(steps: Seq<Step>, n: Name, owner: Owner, now: u64)
        requires
            legal(init(), steps),
            sees(run(init(), steps), n, owner),
        ensures
            ({
                let w = run(init(), steps);
                in_doubt(row(w, n).effect, owner, now) <==> row(w, n).effect.state is Admitted && row(w, n).result is None
                    && gone(w, n, row(w, n).effect.last)
            }),
    {
        theorem_effects_reachable(steps);
        theorem_in_doubt_is_admitted_and_gone(run(init(), steps), n, owner, now);
    }

    /// Whoever lost its claim is admitted nowhere; and the word of an admission that is over changes nothing.
    pub proof fn a_stale_caller_changes_nothing(steps: Seq<Step>, q: Request, i: Input, f: u64, value: nat)
        requires
            legal(init(), steps),
        ensures
            ({
                let w = run(init(), steps);
                &&& q.grant < claim_system::cell(w.claims, q.key).claim.last ==> row(ask(w, q), q.name) == row(w, q.name)
                &&& speaks_of(i, f) && f < row(w, q.name).effect.last ==> row(
                    step(w, Step::Say { name: q.name, input: i, value }),
                    q.name,
                ) == row(w, q.name)
            }),
    {
        let w = run(init(), steps);
        theorem_effects_reachable(steps);
        if q.grant < claim_system::cell(w.claims, q.key).claim.last {
            theorem_fenced(w, q);
        }
        if speaks_of(i, f) && f < row(w, q.name).effect.last {
            theorem_late_word_changes_nothing(w, q.name, i, f, value);
        }
    }

    /// An effect that is not done is had by a caller that holds its claim: at once if it is free, by the user's wish if
    /// its owner is gone.
    pub proof fn no_effect_is_stuck(steps: Seq<Step>, q: Request)
        requires
            legal(init(), steps),
            ({
                let w = run(init(), steps);
                &&& belief(w, q.caller) is Idle
                &&& holds_claim(w, q)
                &&& q.now <= w.claims.now
                &&& q.same && q.heard
                &&& row(w, q.name).effect.last < u64::MAX
            }),
        ensures
            ({
                let w = run(init(), steps);
                &&& row(w, q.name).effect.state is Free ==> is_admitted(w, q)
                &&& row(w, q.name).effect.state is Admitted && q.owner == Owner::Gone && q.doubt == Doubt::Retry
                    ==> is_admitted(w, q)
            }),
    {
        theorem_effects_reachable(steps);
        theorem_effect_is_not_stuck(run(init(), steps), q);
    }
}

/// PC and CV: the durable prefix.
pub mod durable_prefix {
    use crate::commit_spec::*;
    use vstd::prelude::*;

    /// The durable prefix never changes, no task enters it twice, and what entered had a valid state.
    pub proof fn the_durable_prefix_stays_and_is_valid(log: Seq<u64>, requests: Seq<Request>)
        requires
            log.no_duplicates(),
        ensures
            log.is_prefix_of(run(log, requests)),
            run(log, requests).no_duplicates(),
            forall|i: int|
                log.len() <= i < run(log, requests).len() ==> asked_valid(requests, #[trigger] run(log, requests)[i]),
    {
        theorem_prefix(log, requests);
    }

    /// Nothing valid is kept out: a task is durable in the end exactly if some request for it was valid.
    pub proof fn a_task_is_durable_iff_it_was_valid(requests: Seq<Request>, task: u64)
        ensures
            run(Seq::empty(), requests).contains(task) <==> asked_valid(requests, task),
    {
        theorem_durable_iff_valid(requests, task);
    }
}

/// FI: a fork has a branch of its own.
pub mod branches {
    use crate::branch::*;
    use crate::branch_spec::*;
    use vstd::prelude::*;

    /// ⟨checkpoint, ordinal⟩ names one fork.
    pub proof fn branch_keys_never_collide(s: Seq<Fork>)
        requires
            well_formed(s),
        ensures
            injective(s),
    {
        theorem_injective(s);
    }

    /// The ordinals of a checkpoint are 0, 1, .., n-1.
    pub proof fn ordinals_have_no_gaps(s: Seq<Fork>, checkpoint: u64)
        requires
            well_formed(s),
        ensures
            gap_free(s, checkpoint),
    {
        theorem_gap_free(s, checkpoint);
    }

    /// A token names one branch at a checkpoint, also in every later table.
    pub proof fn a_token_names_one_branch(s: Seq<Fork>, later: Seq<Fork>, checkpoint: u64, token: u64, o1: usize, o2: usize)
        requires
            well_formed(later),
            s.is_prefix_of(later),
            names(s, checkpoint, token, o1),
            names(later, checkpoint, token, o2),
        ensures
            o1 == o2,
    {
        theorem_token(s, later, checkpoint, token, o1, o2);
    }
}

/// FD: a question is served its own answer.
pub mod serving {
    use crate::view::*;
    use crate::view_spec::*;
    use vstd::prelude::*;

    /// In every history of calls, answers, failures, retries, crashes, inspections, forks and new inputs on any number of
    /// branches: what a question is served was supplied for that very question, and the call's own value if it gave one.
    pub proof fn a_question_is_served_its_own_answer(
        ws: Seq<World>,
        es: Seq<Event>,
        k: int,
        branch: nat,
        task: u32,
        served: Option<Supply>,
    )
        requires
            trace(ws, es),
            0 <= k < es.len(),
            es[k] == Event::On(branch, Step::Ask(task, served)),
        ensures
            ({
                let s = (ws[k].branches)(branch)->0;
                let n = (s.run->0.pos)(task) as int;
                &&& served is Some ==> right(s, task, n, served->0)
                &&& given_at(s.run->0, task, n) ==> served == (s.run->0.given)(task)
            }),
    {
        theorem_trace(ws, es, k, branch, task, served);
    }

    /// Looking changes nothing and sees all that is recorded.
    pub proof fn looking_changes_nothing(
        pre: State,
        post: State,
        ws: Seq<Write>,
        answered: Seq<u32>,
        alone: bool,
        seen: Seen,
        task: u32,
    )
        requires
            do_inspect(pre, post, ws, answered, alone, seen),
        ensures
            post == pre,
            (seen.lists)(task) == (pre.rows.lists)(task),
            seen.null == pre.rows.null,
    {
        theorem_inspection(pre, post, ws, answered, alone, seen, task);
    }

    /// Nothing but a recorded answer is ever hidden.
    pub proof fn only_answers_are_hidden(ws: Seq<Write>, intent: Intent, answered: Seq<u32>, alone: bool, i: int)
        requires
            0 <= i < ws.len(),
            ws[i].class != Class::Resume,
        ensures
            view_spec(ws, intent, answered, alone)[i] == Show::Keep,
    {
        theorem_only_answers(ws, intent, answered, alone, i);
    }
}

/// FD, live: how an answer is stored beside its question.
pub mod storing {
    use crate::answers::*;
    use crate::answers_spec::*;
    use vstd::prelude::*;

    /// After a task parks, it is known which question is open: the one that its batch answered up to.
    pub proof fn a_parked_question_is_known(given: Option<usize>, recorded: usize, marked: bool, failed: bool)
        ensures
            ({
                let s = store_spec(Batch::Parked, given, recorded, marked, failed);
                &&& list_after(s, recorded) == answered_by(given)
                &&& known_after(s, recorded, failed)
            }),
    {
        theorem_parked_question_is_known(given, recorded, marked, failed);
    }

    /// After it fails too, no earlier answer is gone, and the failed task has no output.
    pub proof fn a_failed_question_is_known(given: Option<usize>, recorded: usize, marked: bool, failed: bool)
        ensures
            ({
                let s = store_spec(Batch::Failed, given, recorded, marked, failed);
                &&& marked_after(s, recorded, marked)
                &&& list_after(s, recorded) >= earlier(recorded, marked, failed)
                &&& s.drops_output
            }),
    {
        theorem_failed_question_is_known(given, recorded, marked, failed);
    }
}

/// PC, FD: which recorded outputs a load shows.
pub mod showing {
    use crate::outputs::*;
    use crate::outputs_spec::*;
    use crate::view::Intent;
    use vstd::prelude::*;

    /// A fork does not see what came of another branch's question or answer.
    pub proof fn branches_stay_apart(t: Task)
        requires
            !t.own,
            t.asked || t.answered,
        ensures
            !shows_spec(Intent::Fork, t),
    {
        theorem_branches_apart(t);
    }

    /// What a task had written before it failed is not run on with.
    pub proof fn partial_output_is_not_shown(intent: Intent, t: Task)
        requires
            partial(t),
            !t.null,
            intent != Intent::Inspect,
            intent != Intent::Fork || !t.own,
        ensures
            !shows_spec(intent, t),
    {
        theorem_partial_is_not_shown(intent, t);
    }

    /// A finished task that asked nothing is not run again.
    pub proof fn a_finished_task_is_not_run_again(intent: Intent, t: Task)
        requires
            !partial(t),
            !t.null && !t.asked && !t.answered,
        ensures
            shows_spec(intent, t),
    {
        theorem_finished_is_shown(intent, t);
    }
}

/// CO-e, live: strays.
pub mod strays {
    use crate::stray::*;
    use crate::stray_spec::*;
    use vstd::prelude::*;

    /// What is reported and let run finds a thread on which nothing is left to run.
    pub proof fn what_is_reported_runs_nothing(thread: Thread, answer: Answer, named_only: bool, policy: Policy)
        requires
            judge_spec(thread, answer, named_only, policy) is Report,
        ensures
            thread == Thread::Finished,
    {
        theorem_reported_runs_nothing(thread, answer, named_only, policy);
    }

    /// No stray passes in silence, but by the user's own wish.
    pub proof fn a_stray_is_said(thread: Thread, answer: Answer, named_only: bool, policy: Policy)
        requires
            fault(thread, answer, named_only) is Some,
            policy != Policy::Ignore,
        ensures
            !(judge_spec(thread, answer, named_only, policy) is Accept),
    {
        theorem_stray_is_said(thread, answer, named_only, policy);
    }

    /// An answer that something waits for is accepted, whatever the policy.
    pub proof fn a_legitimate_answer_is_accepted(thread: Thread, answer: Answer, named_only: bool, policy: Policy)
        requires
            thread == Thread::Parked || thread == Thread::Unfinished || thread == Thread::Unknown,
            match answer {
                Answer::Bare { takers, refused } => !named_only && takers <= 1,
                Answer::Named { names, open } => names >= 1 && open >= names,
            },
        ensures
            judge_spec(thread, answer, named_only, policy) == Verdict::Accept,
    {
        theorem_legitimate_is_accepted(thread, answer, named_only, policy);
    }
}

/// RD: recovery.
pub mod recovering {
    use crate::recovery::*;
    use crate::recovery_spec::*;
    use vstd::prelude::*;

    /// Two logs that are rearrangements of one another have one plan.
    pub proof fn the_plan_does_not_depend_on_the_order(a: Seq<Record>, b: Seq<Record>, tasks: Seq<u64>)
        requires
            a.to_multiset() == b.to_multiset(),
        ensures
            plan_spec(a, tasks) == plan_spec(b, tasks),
    {
        theorem_permutation(a, b, tasks);
    }

    /// Recovering after a recovery runs nothing and changes nothing.
    pub proof fn recovering_twice_is_recovering_once(log: Seq<Record>, tasks: Seq<u64>, place: u64, again: u64)
        ensures
            ({
                let after = executed(log, tasks, plan_spec(log, tasks), place);
                &&& forall|i: int|
                    0 <= i < tasks.len() ==> #[trigger] plan_spec(after, tasks)[i] == Decision::Skip
                &&& executed(after, tasks, plan_spec(after, tasks), again) == after
            }),
    {
        theorem_idempotent(log, tasks, place, again);
    }
}

/// RD: what is told of a retry.
pub mod explaining {
    use crate::explain::*;
    use crate::explain_spec::*;
    use vstd::prelude::*;

    /// A task is left out exactly if it is through, and asks again exactly if its question is open.
    pub proof fn the_plan_is_what_the_log_says(f: Facts)
        ensures
            step_spec(f) == Step::Skip <==> is_through(f),
            step_spec(f) == Step::Ask <==> !is_through(f) && f.parked && !f.answered,
    {
        theorem_skips_what_is_through(f);
        theorem_asks_what_is_open(f);
    }

    /// The reason that is told is a fact of the log.
    pub proof fn the_reason_is_a_fact(f: Facts)
        ensures
            is_a_fact(f, why_spec(f)),
    {
        theorem_the_reason_is_a_fact(f);
    }
}

/// CO: an authority is taken once. Any number of workers, any interleaving of `Step`s.
pub mod authority {
    use crate::claim::*;
    use crate::claim_spec::*;
    use crate::claim_system::*;
    use vstd::prelude::*;

    /// Whatever two workers believe, no fence is carried by both, and only the holder carries the current one.
    pub proof fn one_worker_has_the_current_fence(steps: Seq<Step>, k: Key, a: u64, b: u64, fence: u64)
        requires
            legal(init(), steps),
            carries(run(init(), steps), a, k, fence),
        ensures
            ({
                let w = run(init(), steps);
                let state = cell(w, k).claim.state;
                &&& carries(w, b, k, fence) ==> a == b
                &&& state is Held && state->Held_fence == fence ==> state->Held_owner == a
            }),
    {
        theorem_reachable(steps);
        theorem_one_current(run(init(), steps), k, a, b, fence);
    }

    /// An authority is consumed at most once, and what was consumed stays so.
    pub proof fn an_authority_is_consumed_once_for_ever(steps: Seq<Step>, more: Seq<Step>, k: Key)
        requires
            legal(init(), steps),
            legal(run(init(), steps), more),
        ensures
            ({
                let w = run(init(), steps);
                &&& cell(w, k).consumptions <= 1
                &&& cell(w, k).claim.state is Consumed ==> cell(run(w, more), k).claim
                    == cell(w, k).claim
            }),
    {
        let w = run(init(), steps);
        theorem_reachable(steps);
        theorem_consumed_once(w, k);
        if cell(w, k).claim.state is Consumed {
            theorem_consumed_for_ever(w, more, k);
        }
    }

    /// A worker whose claim was taken over changes nothing, whenever it wakes up.
    pub proof fn a_stale_worker_changes_nothing(steps: Seq<Step>, worker: u64, k: Key, fence: u64, lease: u64, why: Why)
        requires
            legal(init(), steps),
            belief(run(init(), steps), worker) == (Belief::Running {
                key: k,
                fence,
            }),
            fence < cell(run(init(), steps), k).claim.last,
        ensures
            ({
                let w = run(init(), steps);
                let same = cell(w, k);
                &&& cell(step(w, Step::Consume { worker }), k) == same
                &&& cell(step(w, Step::Release { worker, why }), k) == same
                &&& cell(step(w, Step::Renew { worker, lease }), k) == same
            }),
    {
        theorem_reachable(steps);
        theorem_stale_owner_inert(run(init(), steps), worker, k, fence, lease, why);
    }

    /// While its lease runs and nobody gave it back, a grant is in force or has consumed.
    pub proof fn a_live_grant_is_not_taken(steps: Seq<Step>, worker: u64, k: Key, fence: u64)
        requires
            legal(init(), steps),
            ({
                let w = run(init(), steps);
                &&& carries(w, worker, k, fence)
                &&& !cell(w, k).revoked.contains(fence)
                &&& w.now < cell(w, k).grants[fence - 1].lease_end
            }),
        ensures
            ({
                let c = cell(run(init(), steps), k).claim;
                holds(c, worker, fence) || c.state == (State::Consumed { fence })
            }),
    {
        theorem_reachable(steps);
        theorem_live_grant_kept(run(init(), steps), worker, k, fence);
    }

    /// From every state in which the authority is not consumed, a fresh worker takes it: at once if it is free, else after
    /// the lease, or after the holder was declared dead.
    pub proof fn no_authority_is_stuck(steps: Seq<Step>, k: Key, worker: u64, lease: u64)
        requires
            legal(init(), steps),
            ({
                let w = run(init(), steps);
                &&& !(cell(w, k).claim.state is Consumed)
                &&& cell(w, k).claim.last < u64::MAX
                &&& belief(w, worker) is Idle
            }),
        ensures
            ({
                let w = run(init(), steps);
                let state = cell(w, k).claim.state;
                let wait = Step::Tick {
                    to: if state->Held_lease_end > w.now {
                        state->Held_lease_end
                    } else {
                        w.now
                    },
                };
                let dead = Step::Deliver {
                    key: k,
                    input: Input::DeclareDead { owner: state->Held_owner, fence: state->Held_fence },
                };
                &&& state is Free ==> takes(w, worker, k, lease)
                &&& state is Held ==> takes(step(w, wait), worker, k, lease)
                &&& state is Held ==> takes(step(w, dead), worker, k, lease)
            }),
    {
        theorem_reachable(steps);
        theorem_not_stuck(run(init(), steps), k, worker, lease);
    }
}

/// CO: what a run's end says of its claim.
pub mod endings {
    use crate::claim::*;
    use crate::claim_spec::*;
    use crate::ending::*;
    use crate::ending_spec::*;
    use vstd::prelude::*;

    /// An answer that was recorded is not taken again.
    pub proof fn a_recorded_answer_consumes(ts: Seq<Outcome>, i: int, owner: u64, fence: u64)
        requires
            0 <= i < ts.len(),
            is_past(ts[i]),
        ensures
            word_spec(owner, fence, fate_spec(ts)) == (Input::Consume { owner, fence }),
    {
        theorem_recorded_consumes(ts, i, owner, fence);
    }

    /// An authority of which nobody recorded anything is given back.
    pub proof fn an_unrecorded_answer_can_be_given_again(ts: Seq<Outcome>, owner: u64, fence: u64)
        requires
            forall|i: int| 0 <= i < ts.len() && (#[trigger] ts[i]).answered ==> ts[i].failed,
        ensures
            word_spec(owner, fence, fate_spec(ts)) is Release,
    {
        theorem_unrecorded_frees(ts, owner, fence);
    }

    /// A run that is taken for over is not taken for gone: something of it is recorded.
    pub proof fn a_run_that_is_over_is_heard(triggered: u64, ts: Seq<Outcome>)
        requires
            is_over_spec(triggered, ts),
        ensures
            !(fate_spec(ts) is Gone),
    {
        theorem_over_is_heard(triggered, ts);
    }

    /// After a later grant the position is read again.
    pub proof fn a_later_grant_looks_again(fence: u64, p: Position)
        requires
            fence != 1,
        ensures
            !is_present_spec(fence, p),
    {
        theorem_later_grants_look_again(fence, p);
    }
}

/// CO: a thread that is answered, parks again and moves on.
pub mod questions {
    use crate::claim_keys::*;
    use crate::claim_system::*;
    use vstd::prelude::*;

    /// However late a run read the thread: each question's authority is taken at most once. The checkpoint and the
    /// consumption are one transaction.
    pub proof fn a_question_is_taken_once(at: Key, next_question: nat, es: Seq<Event>, q: nat)
        requires
            below(at.open, next_question),
            lawful(start(at, next_question), es),
        ensures
            (after(start(at, next_question), es).taken)(q) <= 1,
    {
        theorem_reachable_thread(at, next_question, es);
        theorem_question_once(after(start(at, next_question), es), q);
    }

    /// Whatever became of the questions before, the one that is open now can be taken at once if nobody holds it.
    pub proof fn the_open_question_is_not_blocked(at: Key, next_question: nat, es: Seq<Event>, worker: u64, lease: u64)
        requires
            below(at.open, next_question),
            lawful(start(at, next_question), es),
            belief(after(start(at, next_question), es).w, worker) is Idle,
            cell(after(start(at, next_question), es).w, row(after(start(at, next_question), es).at)).claim.last < u64::MAX,
        ensures
            ({
                let t = after(start(at, next_question), es);
                let state = cell(t.w, row(t.at)).claim.state;
                &&& !(state is Consumed)
                &&& state is Free ==> takes(t.w, worker, row(t.at), lease)
            }),
    {
        theorem_reachable_thread(at, next_question, es);
        theorem_next_question_not_blocked(after(start(at, next_question), es), worker, lease);
    }
}

/// CO, where the checkpoint and the consumption are two writes.
pub mod questions_in_two_writes {
    use crate::claim_reread::*;
    use crate::claim_system::Key;
    use vstd::prelude::*;

    /// The same where they are two writes, and the head is read again after every grant.
    pub proof fn a_question_is_taken_once_in_two_writes(at: Key, next_question: nat, es: Seq<Event>, q: nat)
        requires
            forall|q: nat| #[trigger] at.open.contains(q) ==> q < next_question,
            lawful(start(at, next_question), es),
        ensures
            (after(start(at, next_question), es).taken)(q) <= 1,
    {
        theorem_reachable_thread(at, next_question, es);
        theorem_question_once(after(start(at, next_question), es), q, at, 0, 0, at, 0, 0);
    }
}

/// The whole contract, on the reference machine: any number of tasks, answers, resumes, crashes and strays.
pub mod reference_machine {
    use crate::contract::*;
    use crate::consume_count::*;
    use vstd::prelude::*;

    /// PC, EO, FD, CV, CO and RD hold in every state that any sequence of actions reaches.
    pub proof fn the_contract_holds(c: Consts, acts: Seq<Act>)
        requires
            shape(c),
            reference(c),
            lawful(c, acts),
        ensures
            pc_holds(after(c, acts)),
            eo_holds(c, after(c, acts)),
            fd_holds(after(c, acts)),
            cv_holds(after(c, acts)),
            co_holds(c, after(c, acts)),
            rd_holds(after(c, acts)),
    {
        theorem_contract(c, acts);
    }

    /// EventuallyCompletes: every behaviour that is weakly fair to each kind of progress completes.
    pub proof fn every_fair_behaviour_completes(c: Consts, b: Behaviour)
        requires
            shape(c),
            reference(c),
            behaves(c, b),
            fair(c, b),
        ensures
            exists|d: nat| done(c, #[trigger] (b.at)(d)),
    {
        theorem_eventually_completes(c, b);
    }

    /// CO-c: without a second run at the gate an interrupt is consumed at most once.
    pub proof fn an_interrupt_is_consumed_once(c: Consts, r: Race, acts: Seq<Act11>)
        requires
            shape(c),
            reference(c),
            no_race(r),
            lawful11(c, r, acts),
        ensures
            coc_holds(after11(c, r, acts)),
    {
        theorem_consume_count(c, r, acts);
    }
}

/// The whole contract, on the machine whose runs may crash while they are parked.
pub mod parked_crashes {
    use crate::contract::*;
    use crate::parked::*;
    use vstd::prelude::*;

    /// The promises hold in every state that any sequence of actions reaches, however the parking is kept.
    pub proof fn the_contract_holds_through_parked_crashes(c: Consts, durable: bool, acts: Seq<ActP>)
        requires
            shape(c),
            reference(c),
            lawful_p(c, durable, acts),
        ensures
            pc_holds(after_p(c, durable, acts).s),
            eo_holds(c, after_p(c, durable, acts).s),
            fd_holds(after_p(c, durable, acts).s),
            cv_holds(after_p(c, durable, acts).s),
            co_holds(c, after_p(c, durable, acts).s),
            rd_holds(after_p(c, durable, acts).s),
    {
        theorem_contract_parked(c, durable, acts);
    }

    /// Where the parking is durable, every fair behaviour completes, however often it crashes.
    pub proof fn durable_parking_completes(c: Consts, b: BehaviourP)
        requires
            shape(c),
            reference(c),
            behaves_p(c, b),
            fair_p(c, b),
        ensures
            exists|d: nat| done(c, (#[trigger] (b.at)(d)).s),
    {
        theorem_eventually_completes_parked(c, b);
    }
}

} // verus!
