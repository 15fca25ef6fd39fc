//! `R11_ConsumeCount.tla`: how often authority is taken from one interrupt, and a racer that takes it twice.
use super::resume_contract::{contract_properties, Extension};
use super::{Action, ResumeContract, Run};
use crate::bits::{Reader, Writer};
use crate::checker::{Error, Property, System};
use crate::config::Config;

/// The system.
#[derive(Clone, Copy, Debug)]
pub struct ConsumeCount {
    base: ResumeContract,
    race_enabled: bool,
    race_fires: bool,
}

/// A run, and how often authority was taken from its interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    run: Run,
    consumes: u8,
}

impl ConsumeCount {
    /// Reads the constants of a configuration.
    pub fn new(c: &Config) -> Result<Self, Error> {
        Ok(ConsumeCount {
            base: ResumeContract::new(c)?,
            race_enabled: c.flag("RaceEnabled")?,
            race_fires: c.flag("RaceFires")?,
        })
    }

    /// A second consumer read the interrupt before the first one cleared it, and lands right behind the gate. It is
    /// served its own value and appends no checkpoint, so nothing in the framework's state shows the duplicate.
    fn race_consume(&self, s: &State, v: u8) -> Option<State> {
        let b = &self.base.bounds;
        let enabled = self.race_enabled
            && s.consumes == 1
            && !s.run.waiting
            && s.run.pc == b.gate + 1
            && s.run.fork_vals.len() < usize::from(b.max_resumes);
        enabled.then(|| State {
            consumes: 2,
            run: Run {
                fork_vals: s.run.fork_vals.append(v),
                fork_outs: s.run.fork_outs.append(v),
                ..if self.race_fires {
                    s.run.fire(b.gate)
                } else {
                    s.run
                }
            },
        })
    }
}

impl Extension for ConsumeCount {
    fn contract(&self) -> &ResumeContract {
        &self.base
    }

    fn run(s: &State) -> &Run {
        &s.run
    }
}

impl System for ConsumeCount {
    type State = State;
    type Action = Action;
    const FAIR: usize = 3;

    fn init(&self) -> State {
        State {
            run: Run::init(),
            consumes: 0,
        }
    }

    fn next(&self, s: &State, step: &mut impl FnMut(Action, State)) {
        self.base.steps(&s.run, &mut |action, run| {
            let taken = u8::from(matches!(action, Action::Consume(_)));
            step(
                action,
                State {
                    run,
                    consumes: s.consumes + taken,
                },
            );
        });
        for v in 1..=self.base.bounds.values {
            if let Some(next) = self.race_consume(s, v) {
                step(Action::RaceConsume(v), next);
            }
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = contract_properties::<Self>();
        all.push(Property {
            name: "TypeOK11",
            always: |m, s| m.base.type_ok(&s.run) && s.consumes <= 2,
            sometimes: |m, s| m.base.is_done(&s.run),
        });
        all.push(Property {
            name: "COe",
            always: |m, s| m.base.consumes_once(&s.run),
            // a stray, or a racer, arrived after the gated effect had fired
            sometimes: |m, s| s.run.extra > 0 && s.run.fired(m.base.bounds.gate) > 0,
        });
        all.push(Property {
            name: "COc",
            always: |_, s| s.consumes <= 1,
            sometimes: |_, s| s.consumes == 1,
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
        w.number(usize::from(s.consumes), 2);
    }

    fn unpack(&self, r: &mut Reader) -> State {
        State {
            run: Run::unpack(&self.base.bounds, r),
            consumes: r.number(2) as u8,
        }
    }

    fn variables(&self, s: &State) -> Vec<(&'static str, String)> {
        let mut all = s.run.variables(&self.base.bounds);
        all.push(("consumes", s.consumes.to_string()));
        all
    }
}
