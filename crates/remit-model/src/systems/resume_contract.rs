//! `ResumeContract.tla`: one linear run with one gate, and the contract.
use super::run::{Record, MOST_TASKS};
use super::{Action, Decision, Run};
use crate::bits::{Reader, Writer};
use crate::checker::{Error, Property, System};
use crate::config::Config;
use crate::seq::LONGEST;

/// How large a world is searched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bounds {
    /// NTasks.
    pub tasks: u8,
    /// IP: the gated task.
    pub gate: u8,
    /// How many answers a human can give.
    pub values: u8,
    /// Answers at the gate's checkpoint, the first one included.
    pub max_resumes: u8,
    /// Crashes.
    pub max_crashes: u8,
    /// Stray resumes of a completed run.
    pub max_extra: u8,
}

/// Mechanisms seen in deployed frameworks. What a switch breaks is for the checker to find.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Faults {
    /// Recovery restarts from task 1, effects fire again.
    pub replay: bool,
    /// A second resume is served the first outcome.
    pub fork_ignore: bool,
    /// The run's last completion record is invalid, and is persisted all the same.
    pub invalid_persist: bool,
    /// Skip or re-execute, free at equal durable state.
    pub nondet_recovery: bool,
    /// A stray resume of a completed run fires the gate.
    pub double_consume: bool,
    /// Recovery restarts from task 1, the gated effect alone is served from the durable record.
    pub prefix_replay: bool,
}

/// The system. Without faults it is the reference semantics.
#[derive(Clone, Copy, Debug)]
pub struct ResumeContract {
    /// Constants.
    pub bounds: Bounds,
    /// Switches.
    pub faults: Faults,
}

impl ResumeContract {
    /// Reads the constants of a configuration.
    pub fn new(c: &Config) -> Result<Self, Error> {
        let bounds = Bounds {
            tasks: c.number("NTasks")?,
            gate: c.number("IP")?,
            values: c.count("Values")?,
            max_resumes: c.number("MaxResumes")?,
            max_crashes: c.number("MaxCrashes")?,
            max_extra: c.number("MaxExtra")?,
        };
        bounds.check()?;
        let faults = Faults {
            replay: c.flag("FaultReplay")?,
            fork_ignore: c.flag("FaultForkIgnore")?,
            invalid_persist: c.flag("FaultInvalidPersist")?,
            nondet_recovery: c.flag("FaultNondetRecovery")?,
            double_consume: c.flag("FaultDoubleConsume")?,
            prefix_replay: c.flag("FaultPrefixReplay")?,
        };
        Ok(ResumeContract { bounds, faults })
    }

    // ---- steps ----

    /// Commit task t: append its record, advance the frontier, note a regression if t was durable, move on.
    fn commit(&self, s: Run, t: u8) -> Run {
        let valid = !(self.faults.invalid_persist && t == self.bounds.tasks);
        Run {
            log: s.log.append(Record { task: t, valid }),
            dur: s.dur.max(t),
            prefix_regressed: s.prefix_regressed || t <= s.dur,
            pc: t + 1,
            ..s
        }
    }

    /// Can the task at pc be executed? The gated one only with its answer on record (a replay crosses the gate).
    pub fn can_exec(&self, s: &Run) -> bool {
        !s.waiting
            && s.pc <= self.bounds.tasks
            && (s.pc != self.bounds.gate || s.consumed.is_some())
    }

    /// Execute the task at pc and commit it.
    pub fn exec_task(&self, s: &Run) -> Option<Run> {
        let served = self.faults.prefix_replay && s.pc == self.bounds.gate;
        self.can_exec(s).then(|| {
            let fires = !(served && s.fired(s.pc) > 0);
            self.commit(if fires { s.fire(s.pc) } else { *s }, s.pc)
        })
    }

    /// Park the run at the gate.
    pub fn emit_interrupt(&self, s: &Run) -> Option<Run> {
        let enabled = !s.waiting && s.pc == self.bounds.gate && s.consumed.is_none();
        enabled.then_some(Run {
            waiting: true,
            ..*s
        })
    }

    /// The first resume: take the answer, fire the gated effect, commit the gated task, clear the interrupt.
    pub fn consume(&self, s: &Run, v: u8) -> Option<Run> {
        s.waiting.then(|| {
            let taken = Run {
                waiting: false,
                consumed: Some(v),
                fork_vals: [v].into_iter().collect(),
                fork_outs: [v].into_iter().collect(),
                ..s.fire(self.bounds.gate)
            };
            self.commit(taken, self.bounds.gate)
        })
    }

    /// A further resume addressed to the consumed interrupt's checkpoint.
    pub fn fork_resume(&self, s: &Run, v: u8) -> Option<Run> {
        let enabled =
            s.consumed.is_some() && s.fork_vals.len() < usize::from(self.bounds.max_resumes);
        let outcome = match s.fork_outs.first() {
            Some(&first) if self.faults.fork_ignore => first,
            _ => v,
        };
        enabled.then(|| Run {
            fork_vals: s.fork_vals.append(v),
            fork_outs: s.fork_outs.append(outcome),
            ..*s
        })
    }

    /// What recovery may decide.
    pub fn choices(&self) -> &'static [Decision] {
        if self.faults.nondet_recovery {
            &[Decision::Skip, Decision::Reexec]
        } else if self.faults.replay || self.faults.prefix_replay {
            &[Decision::Reexec]
        } else {
            &[Decision::Skip]
        }
    }

    /// Where a decision restarts the run.
    pub fn restart_at(&self, s: &Run, decision: Decision) -> u8 {
        match decision {
            Decision::Skip => s.dur + 1,
            Decision::Reexec if self.faults.replay || self.faults.prefix_replay => 1,
            Decision::Reexec => s.dur,
        }
    }

    /// Can the run crash here? Not while parked, not before the first step of a pass, not after completion.
    pub fn can_crash(&self, s: &Run) -> bool {
        !s.waiting && s.pc >= 2 && s.pc <= self.bounds.tasks && s.crashes < self.bounds.max_crashes
    }

    /// Crash and recover.
    pub fn crash_recover(&self, s: &Run, decision: Decision) -> Option<Run> {
        self.can_crash(s).then(|| Run {
            pc: self.restart_at(s, decision),
            rec_hist: s.rec_hist.append((s.dur, decision)),
            crashes: s.crashes + 1,
            ..*s
        })
    }

    /// A stray re-delivery to a completed run. Inert in the reference.
    pub fn extra_resume(&self, s: &Run) -> Option<Run> {
        let enabled = self.is_done(s) && s.extra < self.bounds.max_extra;
        enabled.then(|| {
            let fires = self.faults.double_consume;
            Run {
                extra: s.extra + 1,
                ..if fires { s.fire(self.bounds.gate) } else { *s }
            }
        })
    }

    /// `Next`: every possible step, in the order in which TLC produces them.
    pub fn steps(&self, s: &Run, step: &mut impl FnMut(Action, Run)) {
        let mut offer = |action, successor| {
            if let Some(successor) = successor {
                step(action, successor);
            }
        };
        offer(Action::ExecTask, self.exec_task(s));
        offer(Action::EmitInterrupt, self.emit_interrupt(s));
        for v in 1..=self.bounds.values {
            offer(Action::Consume(v), self.consume(s, v));
        }
        for v in 1..=self.bounds.values {
            offer(Action::ForkResume(v), self.fork_resume(s, v));
        }
        for &d in self.choices() {
            offer(Action::CrashRecover(d), self.crash_recover(s, d));
        }
        offer(Action::ExtraResume, self.extra_resume(s));
    }

    // ---- the contract ----

    /// Complete.
    pub fn is_done(&self, s: &Run) -> bool {
        s.pc == self.bounds.tasks + 1
    }

    /// TypeOK: what the types of [`Run`] leave open.
    pub fn type_ok(&self, s: &Run) -> bool {
        let b = &self.bounds;
        let is_value = |v: &u8| (1..=b.values).contains(v);
        (1..=b.tasks + 1).contains(&s.pc)
            && s.log.iter().all(|r| (1..=b.tasks).contains(&r.task))
            && s.dur <= b.tasks
            && s.consumed.iter().all(is_value)
            && s.fork_vals.iter().all(is_value)
            && s.fork_outs.iter().all(is_value)
            && s.fork_vals.len() == s.fork_outs.len()
            && s.fork_vals.len() <= usize::from(b.max_resumes)
            && s.crashes <= b.max_crashes
            && s.rec_hist.iter().all(|(frontier, _)| *frontier <= b.tasks)
            && s.extra <= b.max_extra
    }

    /// CO, effect half: the gated effect fires at most once.
    pub fn consumes_once(&self, s: &Run) -> bool {
        s.fired(self.bounds.gate) <= 1
    }
}

impl Bounds {
    /// Are the numbers within what the module assumes and this crate can hold?
    pub fn check(&self) -> Result<(), Error> {
        let longest = LONGEST as u8;
        let fine = usize::from(self.tasks) <= MOST_TASKS
            && (1..=self.tasks).contains(&self.gate)
            && self.values >= 1
            && (1..=longest).contains(&self.max_resumes)
            && self.max_crashes <= longest
            && self.max_extra <= longest;
        if fine {
            Ok(())
        } else {
            Err(Error::Configuration(format!(
                "bounds out of range: {self:?}"
            )))
        }
    }
}

/// PC: no durably completed task is executed again.
pub fn continues_prefix(s: &Run) -> bool {
    !s.prefix_regressed
}

/// EO: no task's effect fires twice.
pub fn fires_once(s: &Run) -> bool {
    s.effects.iter().all(|&fired| fired <= 1)
}

/// FD: every resume is served the value it supplied.
pub fn serves_own_value(s: &Run) -> bool {
    s.fork_vals.iter().eq(s.fork_outs.iter())
}

/// CV: no schema-invalid record is durable.
pub fn is_valid(s: &Run) -> bool {
    s.log.iter().all(|record| record.valid)
}

/// RD: equal durable state, equal decision.
pub fn recovers_equally(s: &Run) -> bool {
    let h = &s.rec_hist;
    (0..h.len()).all(|i| (0..i).all(|j| h[i].0 != h[j].0 || h[i].1 == h[j].1))
}

/// A module that `EXTENDS ResumeContract`: its state holds a [`Run`], and it is judged by the same contract.
pub trait Extension: System {
    /// The contract's own part.
    fn contract(&self) -> &ResumeContract;
    /// The run inside a state.
    fn run(s: &Self::State) -> &Run;
}

/// TypeOK and the six properties, for any module that extends the contract.
pub fn contract_properties<S: Extension>() -> Vec<Property<S>> {
    vec![
        Property {
            name: "TypeOK",
            always: |m, s| m.contract().type_ok(S::run(s)),
            sometimes: |m, s| m.contract().is_done(S::run(s)),
        },
        Property {
            name: "PC",
            always: |_, s| continues_prefix(S::run(s)),
            // a run with a durable prefix crashed and was completed all the same
            sometimes: |m, s| S::run(s).crashes > 0 && m.contract().is_done(S::run(s)),
        },
        Property {
            name: "EO",
            always: |_, s| fires_once(S::run(s)),
            // the same, and every effect has fired
            sometimes: |m, s| {
                let effects = &S::run(s).effects[..usize::from(m.contract().bounds.tasks)];
                S::run(s).crashes > 0 && effects.iter().all(|&fired| fired == 1)
            },
        },
        Property {
            name: "FD",
            always: |_, s| serves_own_value(S::run(s)),
            // two different answers at one checkpoint
            sometimes: |_, s| {
                S::run(s)
                    .fork_vals
                    .iter()
                    .any(|v| Some(v) != S::run(s).fork_vals.first())
            },
        },
        Property {
            name: "CV",
            always: |_, s| is_valid(S::run(s)),
            // every task is in the log, the last one included
            sometimes: |m, s| {
                S::run(s)
                    .log
                    .iter()
                    .any(|r| r.task == m.contract().bounds.tasks)
            },
        },
        Property {
            name: "CO",
            always: |m, s| m.contract().consumes_once(S::run(s)),
            // a stray arrived after the gated effect had fired
            sometimes: |m, s| S::run(s).extra > 0 && S::run(s).fired(m.contract().bounds.gate) > 0,
        },
        Property {
            name: "RD",
            always: |_, s| recovers_equally(S::run(s)),
            // two recoveries at equal durable state: takes two crashes
            sometimes: |_, s| {
                let h = &S::run(s).rec_hist;
                (0..h.len()).any(|i| (0..i).any(|j| h[i].0 == h[j].0))
            },
        },
        Property {
            // a witness: its counterexample shows that a replay crosses the memoized gate
            name: "GateNotExercised",
            always: |m, s| {
                let (s, gate) = (S::run(s), m.contract().bounds.gate);
                !(s.consumed.is_some()
                    && s.rec_hist.contains(&(gate, Decision::Reexec))
                    && s.pc == gate + 1
                    && s.fired(1) > 1
                    && s.fired(gate) == 1)
            },
            sometimes: |_, s| {
                S::run(s)
                    .rec_hist
                    .iter()
                    .any(|(_, d)| *d == Decision::Reexec)
            },
        },
    ]
}

impl Extension for ResumeContract {
    fn contract(&self) -> &ResumeContract {
        self
    }

    fn run(s: &Run) -> &Run {
        s
    }
}

impl System for ResumeContract {
    type State = Run;
    type Action = Action;
    const FAIR: usize = 3;

    fn init(&self) -> Run {
        Run::init()
    }

    fn next(&self, s: &Run, step: &mut impl FnMut(Action, Run)) {
        self.steps(s, step);
    }

    fn properties(&self) -> Vec<Property<Self>> {
        contract_properties()
    }

    fn is_goal(&self, s: &Run) -> bool {
        self.is_done(s)
    }

    fn fair(a: &Action) -> Option<usize> {
        a.fair()
    }

    fn pack(&self, s: &Run, w: &mut Writer) {
        s.pack(&self.bounds, w);
    }

    fn unpack(&self, r: &mut Reader) -> Run {
        Run::unpack(&self.bounds, r)
    }

    fn variables(&self, s: &Run) -> Vec<(&'static str, String)> {
        s.variables(&self.bounds)
    }
}
