//! `LangGraphFork.tla`: the resume path of a checkpointer at outcome level, under two rules for its keys.
use super::run::tuple;
use crate::bits::{width, Reader, Writer};
use crate::checker::{Error, Property, System};
use crate::config::Config;
use crate::seq::Seq;
use std::fmt;

/// The most invocations of a run, checkpoints to address, and answers.
const MOST: usize = 8;

/// The system.
#[derive(Clone, Copy, Debug)]
pub struct LangGraphFork {
    checkpoints: u8,
    values: u8,
    max_invocations: u8,
    /// LGF-B: a write's key is ⟨checkpoint, ordinal⟩. LGF-A: the checkpoint alone.
    key_by_ordinal: bool,
}

/// One resume.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Invocation {
    cp: u8,
    supplied: u8,
    served: u8,
}

/// Recorded writes by ⟨checkpoint, ordinal⟩, and what happened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    writes: [[Option<u8>; MOST]; MOST],
    history: Seq<Invocation>,
}

/// An answer sent to a checkpoint; both are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Invoke(u8, u8);

impl fmt::Display for Invoke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invoke({}, {})", checkpoint(self.0), value(self.1))
    }
}

fn checkpoint(c: u8) -> String {
    format!("c{}", c + 1)
}

fn value(v: u8) -> String {
    format!("v{}", char::from(b'a' + v))
}

impl LangGraphFork {
    /// Reads the constants of a configuration.
    pub fn new(c: &Config) -> Result<Self, Error> {
        let system = LangGraphFork {
            checkpoints: c.count("Checkpoints")?,
            values: c.count("Values")?,
            max_invocations: c.number("MaxInvocations")?,
            key_by_ordinal: c.flag("KeyByOrdinal")?,
        };
        let bounds = [system.checkpoints, system.values, system.max_invocations];
        if bounds.iter().all(|b| (1..=MOST).contains(&usize::from(*b))) {
            Ok(system)
        } else {
            Err(Error::Configuration(format!(
                "bounds out of range: {system:?}"
            )))
        }
    }

    /// The ordinal part of the key under which the next write at a checkpoint is recorded.
    fn ordinal(&self, s: &State, c: u8) -> usize {
        if self.key_by_ordinal {
            s.history.iter().filter(|h| h.cp == c).count()
        } else {
            0
        }
    }

    /// If the key carries a write, that is served; else the call's own value is recorded and served.
    fn invoke(&self, s: &State, c: u8, v: u8) -> Option<State> {
        let enabled = s.history.len() < usize::from(self.max_invocations);
        enabled.then(|| {
            let mut next = *s;
            let write = &mut next.writes[usize::from(c)][self.ordinal(s, c)];
            let served = *write.get_or_insert(v);
            next.history = s.history.append(Invocation {
                cp: c,
                supplied: v,
                served,
            });
            next
        })
    }

    fn used(&self) -> impl Iterator<Item = (usize, usize)> {
        let ordinals = usize::from(self.max_invocations);
        (0..usize::from(self.checkpoints)).flat_map(move |c| (0..ordinals).map(move |o| (c, o)))
    }
}

/// What answers (checkpoint and value, from 0) are served, under a rule.
pub fn predicted(key_by_ordinal: bool, invocations: &[(u8, u8)]) -> Result<Vec<String>, Error> {
    let system = LangGraphFork {
        checkpoints: MOST as u8,
        values: MOST as u8,
        max_invocations: MOST as u8,
        key_by_ordinal,
    };
    let step = |s: State, &(c, v): &(u8, u8)| {
        let in_range = c < system.checkpoints && v < system.values;
        in_range.then(|| system.invoke(&s, c, v)).flatten()
    };
    let too_many = || {
        Error::Configuration(format!(
            "at most {MOST} answers, checkpoints and values: {invocations:?}"
        ))
    };
    let end = invocations.iter().try_fold(system.init(), step);
    let history = end.ok_or_else(too_many)?.history;
    Ok(history.iter().map(|h| value(h.served)).collect())
}

impl System for LangGraphFork {
    type State = State;
    type Action = Invoke;
    const FAIR: usize = 0;

    fn init(&self) -> State {
        State {
            writes: [[None; MOST]; MOST],
            history: Seq::default(),
        }
    }

    fn next(&self, s: &State, step: &mut impl FnMut(Invoke, State)) {
        // of two bound variables, TLC varies the first one fastest
        for v in 0..self.values {
            for c in 0..self.checkpoints {
                if let Some(next) = self.invoke(s, c, v) {
                    step(Invoke(c, v), next);
                }
            }
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        // two different answers at one checkpoint
        fn is_fork(s: &State) -> bool {
            let h = &s.history;
            h.iter()
                .any(|a| h.iter().any(|b| a.cp == b.cp && a.supplied != b.supplied))
        }
        vec![
            Property {
                name: "TypeOK",
                always: |m, s| {
                    let value = |v: &u8| *v < m.values;
                    s.writes.iter().flatten().flatten().all(value)
                        && s.history.len() <= usize::from(m.max_invocations)
                        && s.history
                            .iter()
                            .all(|h| h.cp < m.checkpoints && value(&h.supplied) && value(&h.served))
                },
                sometimes: |m, s| s.history.len() == usize::from(m.max_invocations),
            },
            Property {
                name: "FD",
                always: |_, s| s.history.iter().all(|h| h.served == h.supplied),
                sometimes: |_, s| is_fork(s),
            },
            Property {
                name: "ReplayIdempotence",
                always: |_, s| {
                    let same =
                        |a: &Invocation, b: &Invocation| a.cp == b.cp && a.supplied == b.supplied;
                    let h = &s.history;
                    h.iter()
                        .all(|a| h.iter().all(|b| !same(a, b) || a.served == b.served))
                },
                // the same answer twice
                sometimes: |_, s| {
                    (1..s.history.len()).any(|i| s.history[i].supplied == s.history[0].supplied)
                },
            },
            Property {
                name: "PerCheckpoint",
                always: |_, s| {
                    let h = &s.history;
                    (0..h.len()).all(|i| {
                        h[..i].iter().any(|earlier| earlier.cp == h[i].cp)
                            || h[i].served == h[i].supplied
                    })
                },
                // a second checkpoint is addressed, where there is one
                sometimes: |m, s| m.checkpoints == 1 || s.history.iter().any(|h| h.cp > 0),
            },
        ]
    }

    fn is_goal(&self, s: &State) -> bool {
        s.history.len() == usize::from(self.max_invocations)
    }

    fn fair(_: &Invoke) -> Option<usize> {
        None
    }

    fn pack(&self, s: &State, w: &mut Writer) {
        let value = width(usize::from(self.values) - 1);
        for (c, o) in self.used() {
            w.flag(s.writes[c][o].is_some());
            if let Some(v) = s.writes[c][o] {
                w.number(usize::from(v), value);
            }
        }
        w.number(s.history.len(), 4);
        for h in s.history.iter() {
            w.number(usize::from(h.cp), width(usize::from(self.checkpoints) - 1));
            w.number(usize::from(h.supplied), value);
            w.number(usize::from(h.served), value);
        }
    }

    fn unpack(&self, r: &mut Reader) -> State {
        let value = width(usize::from(self.values) - 1);
        let mut s = self.init();
        for (c, o) in self.used() {
            if r.flag() {
                s.writes[c][o] = Some(r.number(value) as u8);
            }
        }
        for _ in 0..r.number(4) {
            let cp = r.number(width(usize::from(self.checkpoints) - 1)) as u8;
            let supplied = r.number(value) as u8;
            let served = r.number(value) as u8;
            s.history = s.history.append(Invocation {
                cp,
                supplied,
                served,
            });
        }
        s
    }

    fn variables(&self, s: &State) -> Vec<(&'static str, String)> {
        let writes = self.used().filter_map(|(c, o)| {
            let v = s.writes[c][o]?;
            Some(format!(
                "<<{}, {}>> -> {}",
                checkpoint(c as u8),
                o + 1,
                value(v)
            ))
        });
        let history = s.history.iter().map(|h| {
            format!(
                "[cp {}, supplied {}, served {}]",
                checkpoint(h.cp),
                value(h.supplied),
                value(h.served)
            )
        });
        vec![("writes", tuple(writes)), ("history", tuple(history))]
    }
}
