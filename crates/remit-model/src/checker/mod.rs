//! The checker: deterministic breadth-first search of a transition system's states.
//!
//! It counts as TLC does with one worker. *Generated*: the initial state and every successor produced, duplicates
//! included. *Distinct*: the states among them. *Depth*: the levels of a complete search, or the states of a
//! counterexample. An invariant is looked at when a state is new, and the search ends there if it is broken; states
//! are taken in the order in which they were found, so a counterexample is a shortest one.
mod liveness;
mod visited;

use crate::bits::{Reader, Writer};
use std::fmt;
use visited::{Visited, NOWHERE};

/// A transition system.
pub trait System {
    /// A state: the variables of the TLA+ module.
    type State: Copy + Eq + fmt::Debug;
    /// A step's name and parameters.
    type Action: Copy + fmt::Display;

    /// The one initial state.
    fn init(&self) -> Self::State;

    /// Produces every step that is possible in a state, in the order of the module's `Next`.
    fn next(&self, s: &Self::State, step: &mut impl FnMut(Self::Action, Self::State));

    /// What can be demanded of every state.
    fn properties(&self) -> Vec<Property<Self>>;

    /// What must happen at some time: the P of the temporal property `<>P`.
    fn is_goal(&self, s: &Self::State) -> bool;

    /// How many weak fairness conditions there are.
    const FAIR: usize;

    /// The fairness condition that a step belongs to.
    fn fair(a: &Self::Action) -> Option<usize>;

    /// What comes of a step, where a system's steps have outcomes to be told apart.
    fn event(_: &Self::Action) -> Option<&'static str> {
        None
    }

    /// Writes a state as bits.
    fn pack(&self, s: &Self::State, w: &mut Writer);

    /// Reads a state.
    fn unpack(&self, r: &mut Reader) -> Self::State;

    /// A state's variables, for people.
    fn variables(&self, s: &Self::State) -> Vec<(&'static str, String)>;
}

/// Something demanded of every state, and the state that shows that the demand is not empty.
pub struct Property<S: System + ?Sized> {
    /// As in the TLA+ module.
    pub name: &'static str,
    /// `always`: it is broken where this is false.
    pub always: fn(&S, &S::State) -> bool,
    /// `sometimes`: a state in which the situation that the property speaks of has arisen. If none is reachable,
    /// the property holds because nothing happens.
    pub sometimes: fn(&S, &S::State) -> bool,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// A state does not fit its bits; the system is too large for this checker, or a variable left its type.
    StateTooWide(String),
    /// Places of states are 32 bit numbers.
    TooManyStates,
    /// The system has no property of this name.
    NoSuchProperty(String),
    /// Something is wrong with the configuration.
    Configuration(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::StateTooWide(s) => write!(f, "a state does not fit into 128 bits: {s}"),
            Error::TooManyStates => write!(f, "more than 2^32 - 2 states"),
            Error::NoSuchProperty(name) => write!(f, "the module has no property {name}"),
            Error::Configuration(detail) => write!(f, "{detail}"),
        }
    }
}

impl std::error::Error for Error {}

/// One state of a counterexample, and how it was reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The action that led here; nothing leads to the initial state.
    pub action: String,
    /// The variables.
    pub variables: Vec<(&'static str, String)>,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything asked for holds.
    Holds,
    /// A property is broken.
    Violated {
        /// Which.
        property: String,
        /// A shortest path to the state that breaks it; for a temporal property, to the loop.
        path: Vec<Step>,
        /// Temporal property: what is repeated for ever after the path. Empty: nothing happens any more.
        forever: Vec<Step>,
    },
}

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The initial state and all successors produced.
    pub generated: u64,
    /// States.
    pub distinct: u64,
    /// Levels, or states of the counterexample.
    pub depth: u32,
    /// What was found.
    pub verdict: Verdict,
    /// For each invariant asked for: its name, and the level at which its `sometimes` was first true.
    pub sometimes: Vec<(&'static str, Option<u32>)>,
    /// Each event, in the order in which they were first seen, and the level to which the step led.
    pub events: Vec<(&'static str, u32)>,
}

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The level under way.
    pub level: u32,
    /// So far.
    pub generated: u64,
    /// So far.
    pub distinct: u64,
}

/// Searches a system: `invariants` in the order in which they are looked at, `temporal` for the goal.
pub fn check<S: System>(
    system: &S,
    invariants: &[String],
    temporal: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, Error> {
    let mut search = Search::new(system, invariants)?;
    let complete = search.run(progress)?;
    if complete && temporal {
        if let Some((path, forever)) = liveness::unfair_to_goal(system, &search.seen) {
            search.verdict = Verdict::Violated {
                property: "EventuallyCompletes".to_string(),
                path,
                forever,
            };
        }
    }
    Ok(Outcome {
        generated: search.generated,
        distinct: u64::from(search.seen.len()),
        depth: search.depth,
        verdict: search.verdict,
        sometimes: search
            .asked
            .iter()
            .map(|p| p.name)
            .zip(search.sometimes)
            .collect(),
        events: search.events,
    })
}

struct Search<'a, S: System> {
    system: &'a S,
    asked: Vec<Property<S>>,
    seen: Visited,
    generated: u64,
    depth: u32,
    verdict: Verdict,
    sometimes: Vec<Option<u32>>,
    events: Vec<(&'static str, u32)>,
}

impl<'a, S: System> Search<'a, S> {
    fn new(system: &'a S, invariants: &[String]) -> Result<Self, Error> {
        let mut asked = Vec::new();
        for name in invariants {
            let found = system.properties().into_iter().find(|p| p.name == name);
            asked.push(found.ok_or_else(|| Error::NoSuchProperty(name.clone()))?);
        }
        Ok(Search {
            system,
            sometimes: vec![None; asked.len()],
            asked,
            seen: Visited::default(),
            generated: 0,
            depth: 1,
            verdict: Verdict::Holds,
            events: Vec::new(),
        })
    }

    /// Is the search complete? If not, `verdict` says why.
    fn run(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<bool, Error> {
        let system = self.system;
        if !self.visit(&system.init(), NOWHERE)? {
            return Ok(false);
        }
        let mut level_end = 1;
        let mut place = 0;
        while place < self.seen.len() {
            if place == level_end {
                self.depth += 1;
                level_end = self.seen.len();
            }
            let state = system.unpack(&mut Reader::new(self.seen.code(place)));
            let mut going = Ok(true);
            system.next(&state, &mut |action, successor| {
                if going == Ok(true) {
                    self.note(S::event(&action));
                    going = self.visit(&successor, place);
                }
            });
            if !going? {
                return Ok(false);
            }
            place += 1;
            if place % (1 << 20) == 0 {
                progress(Progress {
                    level: self.depth,
                    generated: self.generated,
                    distinct: u64::from(self.seen.len()),
                });
            }
        }
        Ok(true)
    }

    fn note(&mut self, event: Option<&'static str>) {
        let known = |e: &&str| self.events.iter().any(|(known, _)| known == e);
        if let Some(event) = event.filter(|e| !known(e)) {
            self.events.push((event, self.depth + 1));
        }
    }

    /// Counts a state and, if it is new, looks at the invariants. Does the search go on?
    fn visit(&mut self, state: &S::State, parent: u32) -> Result<bool, Error> {
        self.generated += 1;
        let Some(place) = self.seen.add(code(self.system, state)?, parent)? else {
            return Ok(true);
        };
        // The level under expansion is `depth`; what it reaches is one deeper, and the initial state is level 1.
        let level = if parent == NOWHERE { 1 } else { self.depth + 1 };
        for (property, first) in self.asked.iter().zip(&mut self.sometimes) {
            if first.is_none() && (property.sometimes)(self.system, state) {
                *first = Some(level);
            }
        }
        for property in &self.asked {
            if !(property.always)(self.system, state) {
                let path = path_to(self.system, &self.seen, place);
                self.depth = path.len() as u32;
                self.verdict = Verdict::Violated {
                    property: property.name.to_string(),
                    path,
                    forever: Vec::new(),
                };
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A state's bits.
pub(crate) fn code<S: System>(system: &S, state: &S::State) -> Result<u128, Error> {
    let mut w = Writer::default();
    system.pack(state, &mut w);
    w.finish()
        .ok_or_else(|| Error::StateTooWide(format!("{state:?}")))
}

fn path_to<S: System>(system: &S, seen: &Visited, place: u32) -> Vec<Step> {
    let mut places = vec![place];
    let mut at = seen.parent(place);
    while at != NOWHERE {
        places.push(at);
        at = seen.parent(at);
    }
    places.reverse();
    steps(system, seen, None, &places)
}

/// The states at these places, each with the action that leads to it from its predecessor.
fn steps<S: System>(system: &S, seen: &Visited, from: Option<u32>, places: &[u32]) -> Vec<Step> {
    let state = |place| system.unpack(&mut Reader::new(seen.code(place)));
    let mut before = from.map(state);
    let mut out = Vec::new();
    for &place in places {
        let now = state(place);
        let mut action = None;
        if let Some(before) = before {
            system.next(&before, &mut |a, successor| {
                if action.is_none() && successor == now {
                    action = Some(a.to_string());
                }
            });
        }
        out.push(Step {
            action: action.unwrap_or_else(|| "Init".to_string()),
            variables: system.variables(&now),
        });
        before = Some(now);
    }
    out
}

#[cfg(test)]
mod tests;
