//! `R10_Separations.tla`: three systems, each of which breaks exactly one property and keeps the other five.
use super::resume_contract::{contract_properties, Extension};
use super::{Action, Decision, ResumeContract, Run};
use crate::bits::{Reader, Writer};
use crate::checker::{Error, Property, System};
use crate::config::Config;

/// Which property the system breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Witness {
    /// None.
    None,
    /// Recovery delivers the last durable task's effect once more (an at-least-once outbox), the gate's excepted.
    Eo,
    /// Recovery restarts from task 1, every effect that fired is served from the durable record.
    Pc,
    /// Recovery decides freely, and either decision has the same effect.
    Rd,
}

/// The system.
#[derive(Clone, Copy, Debug)]
pub struct Separations {
    base: ResumeContract,
    witness: Witness,
}

impl Separations {
    /// Reads the constants of a configuration.
    pub fn new(c: &Config) -> Result<Self, Error> {
        let witness = match c.text("Witness")? {
            "none" => Witness::None,
            "EO" => Witness::Eo,
            "PC" => Witness::Pc,
            "RD" => Witness::Rd,
            other => return Err(Error::Configuration(format!("no such witness: {other}"))),
        };
        let base = ResumeContract::new(c)?;
        if base.faults != super::Faults::default() {
            return Err(Error::Configuration(
                "R10_Separations has no fault switches".to_string(),
            ));
        }
        Ok(Separations { base, witness })
    }

    fn exec_task(&self, s: &Run) -> Option<Run> {
        let executed = self.base.exec_task(s)?;
        let served = self.witness == Witness::Pc && s.fired(s.pc) > 0;
        Some(if served {
            Run {
                effects: s.effects,
                ..executed
            }
        } else {
            executed
        })
    }

    fn choices(&self) -> &'static [Decision] {
        match self.witness {
            Witness::Pc => &[Decision::Reexec],
            Witness::Rd => &[Decision::Skip, Decision::Reexec],
            _ => &[Decision::Skip],
        }
    }

    fn crash_recover(&self, s: &Run, decision: Decision) -> Option<Run> {
        let recovered = Run {
            pc: if self.witness == Witness::Pc {
                1
            } else {
                s.dur + 1
            },
            ..self.base.crash_recover(s, decision)?
        };
        let again = self.witness == Witness::Eo && s.dur != self.base.bounds.gate;
        Some(if again {
            recovered.fire(s.dur)
        } else {
            recovered
        })
    }
}

impl Extension for Separations {
    fn contract(&self) -> &ResumeContract {
        &self.base
    }

    fn run(s: &Run) -> &Run {
        s
    }
}

impl System for Separations {
    type State = Run;
    type Action = Action;
    const FAIR: usize = 3;

    fn init(&self) -> Run {
        Run::init()
    }

    fn next(&self, s: &Run, step: &mut impl FnMut(Action, Run)) {
        // execution and crash are this module's, in the places of the contract's
        if let Some(next) = self.exec_task(s) {
            step(Action::ExecTask, next);
        }
        self.base.steps(s, &mut |action, next| match action {
            Action::ExecTask => (),
            Action::CrashRecover(_) => {
                for &d in self.choices() {
                    if let Some(next) = self.crash_recover(s, d) {
                        step(Action::CrashRecover(d), next);
                    }
                }
            }
            other => step(other, next),
        });
    }

    fn properties(&self) -> Vec<Property<Self>> {
        contract_properties()
    }

    fn is_goal(&self, s: &Run) -> bool {
        self.base.is_done(s)
    }

    fn fair(a: &Action) -> Option<usize> {
        a.fair()
    }

    fn pack(&self, s: &Run, w: &mut Writer) {
        s.pack(&self.base.bounds, w);
    }

    fn unpack(&self, r: &mut Reader) -> Run {
        Run::unpack(&self.base.bounds, r)
    }

    fn variables(&self, s: &Run) -> Vec<(&'static str, String)> {
        s.variables(&self.base.bounds)
    }
}
