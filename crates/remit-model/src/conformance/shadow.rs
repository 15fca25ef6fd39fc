//! What can be seen from outside: which effects fired, what was served, what the store holds, what recovery did.
//!
//! Nothing of `remit-core` is used here (a test looks). The variables are the model's, and a few beside them for what
//! the model has not: branches with effects of their own, a second effect of each task, plans, failed attempts.
use crate::systems::resume_contract as contract;
use crate::systems::run::Record;
use crate::systems::{Decision, ResumeContract, Run};
use std::collections::{BTreeMap, BTreeSet};

/// What must hold after every action, beside the six invariants.
pub const ALSO: [&str; 6] = ["step", "branches", "frontier", "attempts", "COc", "claims"];

/// A fork, as seen from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Its number at the gate's checkpoint.
    pub ordinal: usize,
    /// How often its effect fired.
    pub fired: u32,
    /// Delivered again under the same token, it was the same branch, fired nothing, and was served the same.
    pub redelivery_inert: bool,
    /// At another checkpoint the same token named a branch of this number, a new one.
    pub elsewhere: (usize, bool),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Shadow {
    /// The model's variables.
    pub run: Run,
    /// The forks at the gate's checkpoint; as many are made at the first one.
    pub branches: Vec<Branch>,
    /// The task of each mail, the second effect, that the run itself sent.
    pub mails: Vec<u8>,
    /// What was durable at each recovery, and the plan that was first made of it: which tasks run.
    plans: BTreeMap<BTreeSet<u8>, Vec<bool>>,
    /// Every later plan from the same was the same, in whatever order the log had landed.
    plans_agree: bool,
    /// Every step so far was one that the model allows.
    steps_allowed: bool,
    /// Every attempt to answer that came to nothing left behind what it should.
    attempts_served: bool,
    /// How often authority was taken from the question.
    pub takings: u8,
    /// Everybody who asked for the claim, or spoke for a grant, was told what it should be told.
    claims_told: bool,
}

impl Default for Shadow {
    fn default() -> Self {
        Shadow {
            run: Run::init(),
            branches: Vec::new(),
            mails: Vec::new(),
            plans: BTreeMap::new(),
            plans_agree: true,
            steps_allowed: true,
            attempts_served: true,
            takings: 0,
            claims_told: true,
        }
    }
}

impl Shadow {
    /// The tasks in the store.
    pub fn durable(&self) -> BTreeSet<u8> {
        self.run.log.iter().map(|r| r.task).collect()
    }

    /// A task begins to execute.
    pub fn executes(&mut self, task: u8) {
        self.run.prefix_regressed |= self.durable().contains(&task);
    }

    /// The store takes a record.
    pub fn stores(&mut self, task: u8, valid: bool) {
        self.run.log = self.run.log.append(Record { task, valid });
        self.run.dur = self.run.dur.max(task);
    }

    /// A plan was made from what is durable.
    pub fn plans(&mut self, runs: &[bool]) {
        let durable = self.durable();
        let first = self.plans.entry(durable).or_insert_with(|| runs.to_vec());
        self.plans_agree &= first == runs;
    }

    /// A recovery followed a plan: it goes on at the first task that runs.
    pub fn recovers(&mut self, runs: &[bool]) {
        let durable = self.durable();
        let again = (1..)
            .zip(runs)
            .any(|(task, runs)| *runs && durable.contains(&task));
        let decision = if again {
            Decision::Reexec
        } else {
            Decision::Skip
        };
        let first = runs.iter().position(|runs| *runs).unwrap_or(runs.len());
        self.run.rec_hist = self.run.rec_hist.append((self.run.dur, decision));
        self.run.crashes += 1;
        self.run.pc = first as u8 + 1;
    }

    /// An attempt to answer came to nothing. Did it leave behind what it should?
    pub fn attempted(&mut self, as_it_should: bool) {
        self.attempts_served &= as_it_should;
    }

    /// Somebody was told something of the claim. Was it what it should be?
    pub fn told(&mut self, as_it_should: bool) {
        self.claims_told &= as_it_should;
    }

    /// A step ended, after which the model allows this.
    pub fn stepped(&mut self, expected: &Run) {
        self.steps_allowed &= self.run == *expected;
    }

    /// The names of what is broken. `frontier`: how many tasks the core holds for durable.
    pub fn broken(&self, model: &ResumeContract, frontier: usize) -> Vec<&'static str> {
        let s = &self.run;
        let durable = self.durable();
        let mut mails = self.mails.clone();
        mails.sort_unstable();
        let once = contract::fires_once(s)
            && mails.iter().eq(&durable)
            && self.branches.iter().all(|b| b.fired == 1);
        let holds = [
            ("PC", contract::continues_prefix(s)),
            ("EO", once),
            ("FD", contract::serves_own_value(s)),
            ("CV", contract::is_valid(s)),
            ("CO", model.consumes_once(s)),
            ("RD", self.plans_agree),
            (ALSO[0], self.steps_allowed),
            (ALSO[1], self.branches_are_whole()),
            (ALSO[2], frontier == durable.len()),
            (ALSO[3], self.attempts_served),
            (ALSO[4], self.takings == u8::from(s.consumed.is_some())),
            (ALSO[5], self.claims_told),
        ];
        let broken = holds.into_iter().filter(|(_, holds)| !holds);
        broken.map(|(name, _)| name).collect()
    }

    /// Ordinals without gaps, at each checkpoint; and a redelivered fork is the one it was.
    fn branches_are_whole(&self) -> bool {
        let ordinals: BTreeSet<usize> = self.branches.iter().map(|b| b.ordinal).collect();
        let mut branches = (0..).zip(&self.branches);
        ordinals.into_iter().eq(0..self.branches.len())
            && branches.all(|(n, b)| b.redelivery_inert && b.elsewhere == (n, true))
    }
}
