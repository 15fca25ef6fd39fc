//! Host, store and outside world around a core.
//!
//! The host does what LangGraph does with the core's verdicts: it runs tasks, records writes, and takes a task's
//! answer from its own recorded list first, then from the null task's, then from the call (DESIGN 2, fact 3).
//! `seen` is what can be observed from outside, in the model's variables: it is counted here, never read from the
//! core.
use super::core::Core;
use crate::checker::System;
use crate::systems::parked::{Parked, State};
use crate::systems::resume_contract as contract;
use crate::systems::run::Record as Stored;
use crate::systems::{Action, Bounds, Decision, Faults, ResumeContract, Run};
use remit_core::branch::Ordinal;
use remit_core::recovery::{self, Record};
use remit_core::stray::Verdict;
use remit_core::view::{Class, Intent, Question, Show, Slot, Write};
use std::collections::{BTreeMap, BTreeSet};

/// The branch of the run itself; forks are the ones behind it.
const MAIN: u64 = 0;

/// The checkpoint before the first task. The gate's has the gate's number.
const START: u64 = 0;

/// Stands for the value of a call that brings none: if it is served, the question is asked again.
const ASKED_AGAIN: u8 = 0;

/// The effects of a task. The model has one; the second tells whether the ledger tells effects apart.
const CHARGE: u64 = 0;
const MAIL: u64 = 1;

/// What must hold after every action, beside the six invariants.
pub const ALSO: [&str; 4] = ["step", "branches", "frontier", "attempts"];

/// A fork, as seen from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Branch {
    ordinal: usize,
    fired: u32,
    /// Delivered again under the same token, it was the same branch, fired nothing, and was served the same.
    redelivery_inert: bool,
    /// At another checkpoint the same token named another branch, the next one there.
    elsewhere: (usize, bool),
}

/// A world in some state.
#[derive(Clone, Debug)]
pub struct World<C> {
    core: C,
    model: Parked,
    seen: Run,
    /// The forks at the gate's checkpoint; as many are made at the first one.
    branches: Vec<Branch>,
    /// The task of each mail that was sent by the run itself.
    mails: Vec<u8>,
    /// The pending writes at the gate's checkpoint, and the value in each.
    writes: Vec<(Write, Option<u8>)>,
    /// What was durable at each recovery, and the plan that was first made of it.
    plans: BTreeMap<BTreeSet<u8>, Vec<recovery::Decision>>,
    /// Every later plan from the same was the same, in whatever order the log had landed.
    plans_agree: bool,
    /// Every step so far was one that the model allows.
    steps_allowed: bool,
    /// Every attempt to answer that came to nothing left behind what it should.
    attempts_served: bool,
}

impl<C: Core> World<C> {
    /// A run that has not begun.
    pub fn new(core: C, bounds: Bounds) -> Self {
        let base = ResumeContract {
            bounds,
            faults: Faults::default(),
        };
        World {
            core,
            model: Parked {
                base,
                durable_parking: true,
            },
            seen: Run::init(),
            branches: Vec::new(),
            mails: Vec::new(),
            writes: Vec::new(),
            plans: BTreeMap::new(),
            plans_agree: true,
            steps_allowed: true,
            attempts_served: true,
        }
    }

    /// The steps that the model allows from what is seen, and what must be seen after each.
    pub fn enabled(&self) -> Vec<(Action, Run)> {
        let mut steps = Vec::new();
        let here = State {
            run: self.seen,
            lost: false,
        };
        self.model
            .next(&here, &mut |action, next| steps.push((action, next.run)));
        steps
    }

    /// What can be seen from outside.
    pub fn seen(&self) -> &Run {
        &self.seen
    }

    /// Does an action, after which the model allows `expected` to be seen.
    pub fn perform(&mut self, action: Action, expected: &Run) {
        match action {
            Action::ExecTask => self.exec_task(),
            Action::EmitInterrupt => self.emit_interrupt(),
            Action::Consume(v) => self.consume(v),
            Action::ForkResume(v) => self.fork_resume(v),
            Action::CrashRecover(_) | Action::CrashParked(_) => self.crash_recover(),
            Action::ExtraResume => self.extra_resume(),
            // the claim's, once the core has one
            Action::RaceConsume(_) => (),
        }
        self.steps_allowed &= self.seen == *expected;
    }

    /// The names of what is broken.
    pub fn broken(&self) -> Vec<&'static str> {
        let s = &self.seen;
        let durable: BTreeSet<u8> = s.log.iter().map(|r| r.task).collect();
        let ordinals: BTreeSet<usize> = self.branches.iter().map(|b| b.ordinal).collect();
        let whole = ordinals.into_iter().eq(0..self.branches.len())
            && (0..)
                .zip(&self.branches)
                .all(|(n, b)| b.redelivery_inert && b.elsewhere == (n, true));
        let mut mails = self.mails.clone();
        mails.sort_unstable();
        let holds = [
            ("PC", contract::continues_prefix(s)),
            (
                "EO",
                contract::fires_once(s)
                    && mails.iter().eq(&durable)
                    && self.branches.iter().all(|b| b.fired == 1),
            ),
            ("FD", contract::serves_own_value(s)),
            ("CV", contract::is_valid(s)),
            ("CO", self.model.base.consumes_once(s)),
            ("RD", self.plans_agree),
            (ALSO[0], self.steps_allowed),
            (ALSO[1], whole),
            (ALSO[2], self.core.frontier() == durable.len()),
            (ALSO[3], self.attempts_served),
        ];
        holds
            .into_iter()
            .filter(|(_, holds)| !holds)
            .map(|(name, _)| name)
            .collect()
    }

    /// What is seen, for people.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        self.seen.variables(&self.model.base.bounds)
    }

    fn gate(&self) -> u8 {
        self.model.base.bounds.gate
    }

    fn question(&self) -> Question {
        Question {
            task: u32::from(self.gate()),
            nth: 0,
        }
    }

    /// Runs a task's effect, if the core admits it, and makes its completion durable.
    fn run_task(&mut self, task: u8) {
        self.seen.prefix_regressed |= self.seen.log.iter().any(|r| r.task == task);
        if self.core.admit(MAIN, u64::from(task), CHARGE) {
            self.seen = self.seen.fire(task);
        }
        if self.core.admit(MAIN, u64::from(task), MAIL) {
            self.mails.push(task);
        }
        // the first version of every node writes an invalid state; it is refused, the node is mended
        for valid in [false, true] {
            if self.store(task, valid) {
                break;
            }
        }
        // and what is durable is stored once more, by an owner that does not know; it is refused
        for earlier in 1..=task {
            self.store(earlier, true);
        }
        self.seen.dur = self.seen.log.iter().map(|r| r.task).max().unwrap_or(0);
        self.seen.pc = task + 1;
    }

    fn store(&mut self, task: u8, valid: bool) -> bool {
        let stored = self.core.commit(u64::from(task), valid);
        if stored {
            self.seen.log = self.seen.log.append(Stored { task, valid });
        }
        stored
    }

    fn exec_task(&mut self) {
        self.run_task(self.seen.pc);
    }

    fn emit_interrupt(&mut self) {
        self.record(
            Slot::Task(u32::from(self.gate())),
            Class::Interrupt,
            Some(self.question()),
            None,
        );
        self.seen.waiting = true;
    }

    /// Writes a pending write; one of the same slot and class is written over.
    fn record(&mut self, slot: Slot, class: Class, about: Option<Question>, value: Option<u8>) {
        let answers = usize::from(class == Class::Resume);
        let write = Write {
            slot,
            class,
            answers,
            about,
        };
        self.writes
            .retain(|(w, _)| (w.slot, w.class) != (slot, class));
        self.writes.push((write, value));
    }

    /// The value that a call is served at the gate: what the load shows of the recorded answers comes first.
    fn served(&self, intent: Intent, call: u8) -> u8 {
        let facts: Vec<Write> = self.writes.iter().map(|(w, _)| *w).collect();
        let answered = [u32::from(self.gate())];
        let shows = self.core.view(&facts, intent, &answered);
        let shown = |null: bool| {
            let mut kept = self.writes.iter().zip(&shows).filter(|((w, _), show)| {
                w.class == Class::Resume && (w.slot == Slot::Null) == null && **show == Show::Keep
            });
            kept.find_map(|((_, value), _)| *value)
        };
        shown(false).or(shown(true)).unwrap_or(call)
    }

    fn consume(&mut self, v: u8) {
        self.attempt(v % self.model.base.bounds.values + 1, v);
        let served = self.served(Intent::Answer, v);
        self.take(served, v);
        self.seen.waiting = false;
        self.seen.consumed = Some(served);
        self.seen.fork_vals = [v].into_iter().collect();
        self.seen.fork_outs = [served].into_iter().collect();
        self.run_task(self.gate());
    }

    /// The task takes an answer: a bare one is recorded in the null task's row, then under the task.
    fn take(&mut self, served: u8, bare: u8) {
        self.record(Slot::Null, Class::Resume, None, Some(bare));
        let task = Slot::Task(u32::from(self.gate()));
        self.record(task, Class::Resume, None, Some(served));
    }

    /// Before the answer that counts, another one came to nothing: first the process died before the task took it,
    /// then the task took it and failed. A retry is served it, nobody else is (DESIGN 2, fact 4).
    fn attempt(&mut self, failed: u8, next: u8) {
        let task = Slot::Task(u32::from(self.gate()));
        self.record(
            Slot::Null,
            Class::Resume,
            Some(self.question()),
            Some(failed),
        );
        self.attempts_served &= self.is_left_to_a_retry(failed, next);
        self.take(failed, failed);
        self.record(task, Class::Error, None, None);
        self.attempts_served &= self.is_left_to_a_retry(failed, next);
    }

    fn is_left_to_a_retry(&self, failed: u8, next: u8) -> bool {
        self.served(Intent::Inspect, ASKED_AGAIN) == failed
            && self.served(Intent::Retry, ASKED_AGAIN) == failed
            && self.served(Intent::Unknown, ASKED_AGAIN) == ASKED_AGAIN
            && self.served(Intent::NewInput, ASKED_AGAIN) == ASKED_AGAIN
            && self.served(Intent::Fork, next) == next
            && self.served(Intent::Answer, next) == next
    }

    fn fork_resume(&mut self, v: u8) {
        let token = self.branches.len() as u64;
        let checkpoint = u64::from(self.gate());
        let elsewhere = parts(self.core.fork(START, token));
        let (ordinal, fresh) = parts(self.core.fork(checkpoint, token));
        let served = self.served(Intent::Fork, v);
        let branch = MAIN + 1 + ordinal as u64;
        let fired = u32::from(self.core.admit(branch, checkpoint, CHARGE));
        // the call is delivered twice, under the same token
        let (again, fresh_again) = parts(self.core.fork(checkpoint, token));
        let fired_again = u32::from(self.core.admit(MAIN + 1 + again as u64, checkpoint, CHARGE));
        self.branches.push(Branch {
            ordinal,
            elsewhere,
            fired: fired + fired_again,
            redelivery_inert: fresh
                && !fresh_again
                && again == ordinal
                && self.served(Intent::Fork, v) == served,
        });
        self.seen.fork_vals = self.seen.fork_vals.append(v);
        self.seen.fork_outs = self.seen.fork_outs.append(served);
    }

    /// The process is gone. What the run does next is decided from what is durable: the log, and the pending writes.
    fn crash_recover(&mut self) {
        let tasks: Vec<u64> = (1..=u64::from(self.model.base.bounds.tasks)).collect();
        let durable: BTreeSet<u8> = self.seen.log.iter().map(|r| r.task).collect();
        let mut landed: Vec<Record> = (0..)
            .zip(self.seen.log.iter())
            .map(|(place, r)| Record {
                place,
                task: u64::from(r.task),
            })
            .collect();
        let plan = self.core.plan(&landed, &tasks);
        self.compare(&durable, plan.clone());
        for _ in 0..landed.len() {
            landed.rotate_left(1);
            let rotated = self.core.plan(&landed, &tasks);
            self.compare(&durable, rotated);
        }
        landed.reverse();
        let reversed = self.core.plan(&landed, &tasks);
        self.compare(&durable, reversed);

        let runs = |d: &recovery::Decision| *d == recovery::Decision::Run;
        let again = (1..)
            .zip(&plan)
            .any(|(task, d)| durable.contains(&task) && runs(d));
        let decision = if again {
            Decision::Reexec
        } else {
            Decision::Skip
        };
        self.seen.rec_hist = self.seen.rec_hist.append((self.seen.dur, decision));
        self.seen.crashes += 1;
        self.seen.pc = plan
            .iter()
            .position(runs)
            .map_or(tasks.len() as u8 + 1, |i| i as u8 + 1);
        let facts: Vec<Write> = self.writes.iter().map(|(w, _)| *w).collect();
        self.seen.waiting = self.core.is_open(&facts, u32::from(self.gate()));
    }

    fn compare(&mut self, durable: &BTreeSet<u8>, plan: Vec<recovery::Decision>) {
        let first = self
            .plans
            .entry(durable.clone())
            .or_insert_with(|| plan.clone());
        self.plans_agree &= *first == plan;
    }

    /// A stray is not acted upon unless the core accepts it; and if it reached the effect, the ledger would refuse.
    fn extra_resume(&mut self) {
        self.seen.extra += 1;
        let accepted = self.core.judge_stray() == Verdict::Accept;
        let admitted = self.core.admit(MAIN, u64::from(self.gate()), CHARGE);
        if accepted || admitted {
            self.seen = self.seen.fire(self.gate());
        }
    }
}

fn parts(ordinal: Ordinal) -> (usize, bool) {
    match ordinal {
        Ordinal::Known(o) => (o, false),
        Ordinal::Fresh(o) => (o, true),
    }
}
