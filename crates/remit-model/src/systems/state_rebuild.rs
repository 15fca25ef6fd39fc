//! `StateRebuild.tla`: PC's other half. A run has application state, and recovery derives it from the log, or not.
use super::resume_contract::{continues_prefix, contract_properties, Extension};
use super::run::tuple;
use super::{Action, ResumeContract, Run};
use crate::bits::{width, Reader, Writer};
use crate::checker::{Error, Property, System};
use crate::config::Config;
use crate::seq::Seq;

/// The system.
#[derive(Clone, Copy, Debug)]
pub struct StateRebuild {
    base: ResumeContract,
    rebuild_from_initial: bool,
}

/// A run, and the tasks whose results its application state holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    run: Run,
    state: Seq<u8>,
}

impl StateRebuild {
    /// Reads the constants of a configuration.
    pub fn new(c: &Config) -> Result<Self, Error> {
        Ok(StateRebuild {
            base: ResumeContract::new(c)?,
            rebuild_from_initial: c.flag("RebuildFromInitial")?,
        })
    }
}

/// The application state that the log stands for.
fn from_log(run: &Run) -> Seq<u8> {
    run.log.iter().map(|record| record.task).collect()
}

impl Extension for StateRebuild {
    fn contract(&self) -> &ResumeContract {
        &self.base
    }

    fn run(s: &State) -> &Run {
        &s.run
    }
}

impl System for StateRebuild {
    type State = State;
    type Action = Action;
    const FAIR: usize = 3;

    fn init(&self) -> State {
        State {
            run: Run::init(),
            state: Seq::default(),
        }
    }

    fn next(&self, s: &State, step: &mut impl FnMut(Action, State)) {
        self.base.steps(&s.run, &mut |action, run| {
            let state = match action {
                Action::ExecTask => s.state.append(s.run.pc),
                Action::Consume(_) => s.state.append(self.base.bounds.gate),
                Action::CrashRecover(_) if self.rebuild_from_initial => Seq::default(),
                Action::CrashRecover(_) => from_log(&s.run),
                _ => s.state,
            };
            step(action, State { run, state });
        });
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = contract_properties::<Self>();
        all.push(Property {
            name: "TypeOKSR",
            always: |m, s| {
                let tasks = 1..=m.base.bounds.tasks;
                m.base.type_ok(&s.run) && s.state.iter().all(|t| tasks.contains(t))
            },
            sometimes: |m, s| m.base.is_done(&s.run),
        });
        all.push(Property {
            name: "PCstate",
            always: |_, s| continues_prefix(&s.run) && s.state == from_log(&s.run),
            sometimes: |m, s| s.run.crashes > 0 && m.base.is_done(&s.run),
        });
        all
    }

    fn is_goal(&self, s: &State) -> bool {
        self.base.is_done(&s.run)
    }

    fn fair(a: &Action) -> Option<usize> {
        a.fair()
    }

    fn pack(&self, s: &State, w: &mut Writer) {
        s.run.pack(&self.base.bounds, w);
        w.fail_unless(s.state.is_whole());
        w.number(s.state.len(), 6);
        for task in s.state.iter() {
            w.number(
                usize::from(*task),
                width(usize::from(self.base.bounds.tasks)),
            );
        }
    }

    fn unpack(&self, r: &mut Reader) -> State {
        let run = Run::unpack(&self.base.bounds, r);
        let state = (0..r.number(6))
            .map(|_| r.number(width(usize::from(self.base.bounds.tasks))) as u8)
            .collect();
        State { run, state }
    }

    fn variables(&self, s: &State) -> Vec<(&'static str, String)> {
        let mut all = s.run.variables(&self.base.bounds);
        all.push(("state", tuple(s.state.iter())));
        all
    }
}
