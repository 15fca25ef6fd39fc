//! `ResumeContractParked.tla`: the process dies while the run waits for its answer.
use super::resume_contract::{contract_properties, Extension};
use super::{Action, Decision, ResumeContract, Run};
use crate::bits::{Reader, Writer};
use crate::checker::{Error, Property, System};
use crate::config::Config;

/// The system.
#[derive(Clone, Copy, Debug)]
pub struct Parked {
    /// The contract.
    pub base: ResumeContract,
    /// Is the pending interrupt part of the durable state? If not, it dies with the process, and the run with it.
    pub durable_parking: bool,
}

/// A run, and whether it is beyond restoring.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The run.
    pub run: Run,
    /// It never moves again.
    pub lost: bool,
}

impl Parked {
    /// Reads the constants of a configuration.
    pub fn new(c: &Config) -> Result<Self, Error> {
        Ok(Parked {
            base: ResumeContract::new(c)?,
            durable_parking: c.flag("DurableParking")?,
        })
    }

    /// Recovery decides as it does elsewhere. "skip" lands back in the park; a re-executing recovery leaves it, and
    /// will raise the interrupt again when its pass reaches the gate.
    fn crash_parked(&self, s: &State, decision: Decision) -> Option<State> {
        let run = &s.run;
        let stays = decision == Decision::Skip || !self.durable_parking;
        let enabled = run.waiting && run.crashes < self.base.bounds.max_crashes;
        enabled.then(|| State {
            lost: !self.durable_parking,
            run: Run {
                crashes: run.crashes + 1,
                rec_hist: run.rec_hist.append((run.dur, decision)),
                pc: if stays {
                    run.pc
                } else {
                    self.base.restart_at(run, decision)
                },
                waiting: decision == Decision::Skip && self.durable_parking,
                ..*run
            },
        })
    }
}

impl Extension for Parked {
    fn contract(&self) -> &ResumeContract {
        &self.base
    }

    fn run(s: &State) -> &Run {
        &s.run
    }
}

impl System for Parked {
    type State = State;
    type Action = Action;
    const FAIR: usize = 3;

    fn init(&self) -> State {
        State {
            run: Run::init(),
            lost: false,
        }
    }

    fn next(&self, s: &State, step: &mut impl FnMut(Action, State)) {
        if !s.lost {
            self.base.steps(&s.run, &mut |action, run| {
                step(action, State { run, lost: false })
            });
        }
        for &d in self.base.choices() {
            if let Some(next) = self.crash_parked(s, d) {
                step(Action::CrashParked(d), next);
            }
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = contract_properties::<Self>();
        all.push(Property {
            name: "TypeOKP",
            always: |m, s| m.base.type_ok(&s.run),
            sometimes: |m, s| m.base.is_done(&s.run),
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
        w.flag(s.lost);
    }

    fn unpack(&self, r: &mut Reader) -> State {
        State {
            run: Run::unpack(&self.base.bounds, r),
            lost: r.flag(),
        }
    }

    fn variables(&self, s: &State) -> Vec<(&'static str, String)> {
        let mut all = s.run.variables(&self.base.bounds);
        all.push(("lost", s.lost.to_string()));
        all
    }
}
