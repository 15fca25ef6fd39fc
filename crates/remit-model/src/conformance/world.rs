//! Host, store and outside world around a core.
//!
//! The host does what LangGraph does with the core's verdicts: it runs tasks, records writes, and takes a task's
//! answer from its own recorded list first, then from the null task's, then from the call (DESIGN 2, fact 3). What
//! comes of it is written down in the [`Shadow`].
use super::core::Core;
use super::shadow::{Branch, Shadow};
use crate::checker::System;
use crate::systems::parked::{Parked, State};
use crate::systems::{Action, Bounds, Faults, ResumeContract, Run};
use remit_core::branch::Ordinal;
use remit_core::claim::{word, Fate, Input, Verdict as Told};
use remit_core::recovery::{Decision, Record};
use remit_core::stray::Verdict;
use remit_core::view::{Class, Intent, Question, Show, Slot, Write};

/// The branch of the run itself; forks are the ones behind it.
const MAIN: u64 = 0;

/// The checkpoint before the first task. The gate's has the gate's number.
const START: u64 = 0;

/// The effects of a task. The model has one; the second tells whether the ledger tells effects apart.
const CHARGE: u64 = 0;
const MAIL: u64 = 1;

/// Stands for the value of a call that brings none: if it is served, the question is asked again.
const ASKED_AGAIN: u8 = 0;

/// Those who want to answer: the process that dies, the one whose task fails, the one that counts, and a racer that
/// read the thread while it was parked.
const DIES: u64 = 1;
const FAILS: u64 = 2;
const ANSWERS: u64 = 3;
const RACES: u64 = 4;

/// How long each of them has the claim.
const LEASE: u64 = 10;

/// A world in some state.
#[derive(Clone, Debug)]
pub struct World<C> {
    core: C,
    model: Parked,
    shadow: Shadow,
    /// The pending writes at the gate's checkpoint, and the value in each.
    writes: Vec<(Write, Option<u8>)>,
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
            shadow: Shadow::default(),
            writes: Vec::new(),
        }
    }

    /// The steps that the model allows from what is seen, and what must be seen after each.
    pub fn enabled(&self) -> Vec<(Action, Run)> {
        let mut steps = Vec::new();
        let here = State {
            run: self.shadow.run,
            lost: false,
        };
        let mut offer = |action, next: State| steps.push((action, next.run));
        self.model.next(&here, &mut offer);
        steps
    }

    /// Does an action, after which the model allows `expected` to be seen.
    pub fn perform(&mut self, action: Action, expected: &Run) {
        match action {
            Action::ExecTask => self.run_task(self.shadow.run.pc),
            Action::EmitInterrupt => self.emit_interrupt(),
            Action::Consume(v) => self.consume(v),
            Action::ForkResume(v) => self.fork_resume(v),
            Action::CrashRecover(_) | Action::CrashParked(_) => self.crash_recover(),
            Action::ExtraResume => self.extra_resume(),
            // this model does not offer it: the racers are in `consume`
            Action::RaceConsume(_) => (),
        }
        self.shadow.stepped(expected);
    }

    /// The names of what is broken.
    pub fn broken(&self) -> Vec<&'static str> {
        self.shadow.broken(&self.model.base, self.core.frontier())
    }

    /// What can be seen from outside.
    pub fn seen(&self) -> &Run {
        &self.shadow.run
    }

    /// The same, for people.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        self.shadow.run.variables(&self.model.base.bounds)
    }

    fn gate(&self) -> u8 {
        self.model.base.bounds.gate
    }

    fn slot(&self) -> Slot {
        Slot::Task(u32::from(self.gate()))
    }

    fn question(&self) -> Question {
        Question {
            task: u32::from(self.gate()),
            nth: 0,
        }
    }

    // ---- tasks ----

    /// Runs a task's effects, where the core admits them, and makes its completion durable.
    fn run_task(&mut self, task: u8) {
        self.shadow.executes(task);
        if self.core.admit(MAIN, u64::from(task), CHARGE) {
            self.shadow.run = self.shadow.run.fire(task);
        }
        if self.core.admit(MAIN, u64::from(task), MAIL) {
            self.shadow.mails.push(task);
        }
        // the first version of every node writes an invalid state; it is refused, the node is mended
        let stored_invalid = self.store(task, false);
        if !stored_invalid {
            self.store(task, true);
        }
        // and what is durable is stored once more, by an owner that does not know; it is refused
        for earlier in 1..=task {
            self.store(earlier, true);
        }
        self.shadow.run.pc = task + 1;
    }

    fn store(&mut self, task: u8, valid: bool) -> bool {
        let stored = self.core.commit(u64::from(task), valid);
        if stored {
            self.shadow.stores(task, valid);
        }
        stored
    }

    // ---- questions and answers ----

    fn emit_interrupt(&mut self) {
        self.record(self.slot(), Class::Interrupt, Some(self.question()), None);
        self.shadow.run.waiting = true;
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

    fn facts(&self) -> Vec<Write> {
        self.writes.iter().map(|(write, _)| *write).collect()
    }

    /// The value that a call is served at the gate: what the load shows of the recorded answers comes first.
    fn served(&self, intent: Intent, call: u8) -> u8 {
        let answered = [u32::from(self.gate())];
        let shows = self.core.view(&self.facts(), intent, &answered);
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
        let fence = self.acquire(ANSWERS, LEASE);
        self.race(LEASE, |told| matches!(told, Told::Refused { .. }));
        self.settle(ANSWERS, fence, Fate::Put, |told| told == Told::Accepted);
        let consumed = |told| told == Told::AlreadyConsumed { fence };
        self.race(3 * LEASE, consumed);
        self.settle(FAILS, fence.saturating_sub(1), Fate::Put, consumed);
        let served = self.served(Intent::Answer, v);
        self.take(served, v);
        let run = &mut self.shadow.run;
        run.waiting = false;
        run.consumed = Some(served);
        run.fork_vals = [v].into_iter().collect();
        run.fork_outs = [served].into_iter().collect();
        self.run_task(self.gate());
    }

    /// Asks for the claim, which should be had at once, and returns the fence. A run that is refused comes back when
    /// a lease is over; 0 if it is refused again.
    fn acquire(&mut self, owner: u64, now: u64) -> u64 {
        for (now, right) in [(now, true), (now + LEASE, false)] {
            let lease = LEASE;
            let told = self.core.claim(Input::Acquire { owner, now, lease });
            if let Told::Granted { fence, .. } = told {
                self.shadow.told(right);
                return fence;
            }
        }
        self.shadow.told(false);
        0
    }

    /// A run's last word on the claim. If that takes the authority, it is written down.
    fn settle(&mut self, owner: u64, fence: u64, fate: Fate, right: impl Fn(Told) -> bool) {
        let told = self.core.claim(word(owner, fence, fate));
        self.shadow.told(right(told));
        // the answer that counts is stored whatever the store says: a word that was refused shows as one too many
        let takes = told == Told::Accepted || owner == ANSWERS;
        self.shadow.takings += u8::from(takes && fate == Fate::Put);
    }

    /// A second consumer asks for the claim, and answers if it has it.
    fn race(&mut self, now: u64, right: impl Fn(Told) -> bool) {
        let input = Input::Acquire {
            owner: RACES,
            now,
            lease: LEASE,
        };
        let told = self.core.claim(input);
        self.shadow.told(right(told));
        if let Told::Granted { fence, .. } = told {
            self.settle(RACES, fence, Fate::Put, |_| false);
        }
    }

    /// The task takes an answer: a bare one is recorded in the null task's row, then under the task.
    fn take(&mut self, served: u8, bare: u8) {
        self.record(Slot::Null, Class::Resume, None, Some(bare));
        self.record(self.slot(), Class::Resume, None, Some(served));
    }

    /// Before the answer that counts, another one came to nothing: first the process died before the task took it,
    /// then the task took it and failed. A retry is served it, nobody else is (DESIGN 2, fact 4).
    fn attempt(&mut self, failed: u8, next: u8) {
        let fence = self.acquire(DIES, 0);
        self.race(0, |told| matches!(told, Told::Refused { .. }));
        self.record(
            Slot::Null,
            Class::Resume,
            Some(self.question()),
            Some(failed),
        );
        self.shadow.attempted(self.is_left_to_a_retry(failed, next));
        // the lease of the dead runs out; what it had sent before arrives late
        let taken_over = self.acquire(FAILS, LEASE);
        self.settle(DIES, fence, Fate::Put, |told| told == Told::Stale);
        self.take(failed, failed);
        self.record(self.slot(), Class::Error, None, None);
        self.settle(FAILS, taken_over, Fate::Failed, |told| {
            told == Told::Accepted
        });
        self.shadow.attempted(self.is_left_to_a_retry(failed, next));
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
        let token = self.shadow.branches.len() as u64;
        let checkpoint = u64::from(self.gate());
        let elsewhere = parts(self.core.fork(START, token));
        let (ordinal, fresh) = parts(self.core.fork(checkpoint, token));
        let served = self.served(Intent::Fork, v);
        let fired = self.fire_on(ordinal);
        // the call is delivered twice, under the same token
        let (again, fresh_again) = parts(self.core.fork(checkpoint, token));
        let served_again = self.served(Intent::Fork, v);
        let fired_again = self.fire_on(again);
        self.shadow.branches.push(Branch {
            ordinal,
            fired: fired + fired_again,
            redelivery_inert: fresh && !fresh_again && again == ordinal && served_again == served,
            elsewhere,
        });
        let run = &mut self.shadow.run;
        run.fork_vals = run.fork_vals.append(v);
        run.fork_outs = run.fork_outs.append(served);
    }

    /// The gated effect on a fork's branch: 1 if it fires.
    fn fire_on(&mut self, ordinal: usize) -> u32 {
        let branch = MAIN + 1 + ordinal as u64;
        u32::from(self.core.admit(branch, u64::from(self.gate()), CHARGE))
    }

    /// A stray is not acted upon unless the core accepts it; and if it reached the effect, the ledger would refuse.
    fn extra_resume(&mut self) {
        self.shadow.run.extra += 1;
        let accepted = self.core.judge_stray() == Verdict::Accept;
        let admitted = self.core.admit(MAIN, u64::from(self.gate()), CHARGE);
        if accepted || admitted {
            self.shadow.run = self.shadow.run.fire(self.gate());
        }
    }

    // ---- recovery ----

    /// The process is gone. What the run does next is decided from what is durable: the log, and the pending writes.
    /// The same log in other orders must lead to the same plan.
    fn crash_recover(&mut self) {
        let mut landed: Vec<Record> = (0..)
            .zip(self.shadow.run.log.iter())
            .map(|(place, r)| Record {
                place,
                task: u64::from(r.task),
            })
            .collect();
        let followed = self.plan(&landed);
        for _ in 0..landed.len() {
            landed.rotate_left(1);
            self.plan(&landed);
        }
        landed.reverse();
        self.plan(&landed);
        self.shadow.recovers(&followed);
        self.shadow.run.waiting = self.core.is_open(&self.facts(), u32::from(self.gate()));
    }

    /// Which tasks run.
    fn plan(&mut self, log: &[Record]) -> Vec<bool> {
        let tasks: Vec<u64> = (1..=u64::from(self.model.base.bounds.tasks)).collect();
        let plan = self.core.plan(log, &tasks);
        let runs: Vec<bool> = plan.iter().map(|d| *d == Decision::Run).collect();
        self.shadow.plans(&runs);
        runs
    }
}

fn parts(ordinal: Ordinal) -> (usize, bool) {
    match ordinal {
        Ordinal::Known(o) => (o, false),
        Ordinal::Fresh(o) => (o, true),
    }
}
