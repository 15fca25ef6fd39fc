//! Which sequences are tried, and how a failing one is cut down to what matters.
use super::core::{Core, Shipped};
use super::world::World;
use crate::systems::{Action, Bounds};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::str::FromStr;

/// The longest random sequence.
pub const LONGEST_SEQUENCE: u8 = 48;

/// The bounds of `R0_reference`.
pub const REFERENCE: Bounds = Bounds {
    tasks: 3,
    gate: 2,
    values: 2,
    max_resumes: 2,
    max_crashes: 1,
    max_extra: 1,
};

/// The bounds of the wider runs: the race's, and the second fault matrix's.
pub const WIDER: Bounds = Bounds {
    tasks: 6,
    gate: 3,
    values: 3,
    max_resumes: 3,
    max_crashes: 2,
    max_extra: 2,
};

/// A sequence of actions in a world of some size. Its text can be read back: `replay` takes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The world's size.
    pub bounds: Bounds,
    /// What happens.
    pub actions: Vec<Action>,
}

/// A sequence after which something is broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What.
    pub broken: Vec<&'static str>,
    /// The shortened sequence.
    pub trace: Trace,
    /// The number that made the sequence.
    pub seed: Option<u64>,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = &self.bounds;
        write!(
            f,
            "{},{},{},{},{},{}:",
            b.tasks, b.gate, b.values, b.max_resumes, b.max_crashes, b.max_extra
        )?;
        self.actions.iter().try_for_each(|a| write!(f, " {a}"))
    }
}

impl FromStr for Trace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (sizes, actions) = text.split_once(':').ok_or("a trace is SIZES: ACTIONS")?;
        let sizes: Result<Vec<u8>, _> = sizes.split(',').map(|n| n.trim().parse()).collect();
        let [tasks, gate, values, max_resumes, max_crashes, max_extra] =
            sizes.map_err(|e| e.to_string())?[..]
        else {
            return Err("SIZES are tasks,gate,values,resumes,crashes,strays".to_string());
        };
        let bounds = Bounds {
            tasks,
            gate,
            values,
            max_resumes,
            max_crashes,
            max_extra,
        };
        bounds.check().map_err(|e| e.to_string())?;
        let actions: Result<Vec<Action>, _> = actions.split_whitespace().map(str::parse).collect();
        Ok(Trace {
            bounds,
            actions: actions?,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} broken by: {}", self.broken.join(", "), self.trace)?;
        match self.seed {
            Some(seed) => write!(f, " (shrunk, from seed {seed})"),
            None => Ok(()),
        }
    }
}

/// What an exhaustive search found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Sequences tried (or states of world and core, where equal states are met once).
    pub tried: usize,
    /// Different states as seen from outside: as many as the model has.
    pub runs: usize,
    /// Everything that broke anywhere.
    pub broken: BTreeSet<&'static str>,
    /// A shortest sequence that breaks something.
    pub first: Option<Trace>,
}

/// Every sequence of actions, of any length, that the model's guards allow at these bounds, the empty one included.
/// It ends because each action moves the run on or uses up a bound.
pub fn every_sequence<C: Core>(make: impl Fn() -> C, bounds: Bounds) -> Found {
    exhaust(make(), bounds, |_| true)
}

/// Every reachable state of world and core together, each once: for bounds with too many sequences.
pub fn every_state<C: Core>(make: impl Fn() -> C, bounds: Bounds) -> Found {
    let mut seen = HashSet::new();
    // the core's structures have no hash; their text is as good
    exhaust(make(), bounds, |world| seen.insert(format!("{world:?}")))
}

fn exhaust<C: Core>(core: C, bounds: Bounds, mut is_new: impl FnMut(&World<C>) -> bool) -> Found {
    let mut found = Found::default();
    let mut runs = HashSet::new();
    let mut open = VecDeque::from([(World::new(core, bounds), Vec::new())]);
    while let Some((world, actions)) = open.pop_front() {
        if !is_new(&world) {
            continue;
        }
        found.tried += 1;
        runs.insert(*world.seen());
        let broken = world.broken();
        if !broken.is_empty() && found.first.is_none() {
            let actions = actions.clone();
            found.first = Some(Trace { bounds, actions });
        }
        found.broken.extend(broken);
        for (action, expected) in world.enabled() {
            let (mut next, mut so_far) = (world.clone(), actions.clone());
            next.perform(action, &expected);
            so_far.push(action);
            open.push_back((next, so_far));
        }
    }
    found.runs = runs.len();
    found
}

/// Random sequences, one for each seed; the first failure is shrunk. Returns how many actions were done.
pub fn random<C: Core>(
    make: impl Fn(Bounds) -> C,
    seeds: impl Iterator<Item = u64>,
) -> Result<usize, Failure> {
    let mut actions = 0;
    for seed in seeds {
        let (trace, broken) = walk(&make, seed);
        actions += trace.actions.len();
        if let Some(&what) = broken.first() {
            return Err(Failure {
                trace: shrink(&make, trace, what),
                broken,
                seed: Some(seed),
            });
        }
    }
    Ok(actions)
}

/// How many actions are done before something is broken, and what. Actions whose guard is false are passed over, so
/// that a trace stays one when a part of it is taken out.
pub fn fails<C: Core>(
    make: &impl Fn(Bounds) -> C,
    trace: &Trace,
) -> Option<(usize, Vec<&'static str>)> {
    let mut world = World::new(make(trace.bounds), trace.bounds);
    for (i, &action) in trace.actions.iter().enumerate() {
        if let Some((_, expected)) = world.enabled().iter().find(|(a, _)| *a == action) {
            world.perform(action, expected);
            let broken = world.broken();
            if !broken.is_empty() {
                return Some((i + 1, broken));
            }
        }
    }
    None
}

/// Takes out actions, longest stretches first, as long as the same thing breaks.
fn shrink<C: Core>(make: &impl Fn(Bounds) -> C, mut trace: Trace, what: &str) -> Trace {
    let mut stretch = trace.actions.len();
    while stretch > 0 {
        let mut at = 0;
        while at + stretch <= trace.actions.len() {
            let mut shorter = trace.clone();
            shorter.actions.drain(at..at + stretch);
            match fails(make, &shorter) {
                Some((_, broken)) if broken.contains(&what) => trace = shorter,
                _ => at += 1,
            }
        }
        stretch /= 2;
    }
    trace
}

/// The random sequence of a seed, as the shipped core is driven through it.
pub fn random_trace(seed: u64) -> Trace {
    walk(&|_| Shipped::default(), seed).0
}

/// A random sequence, up to what it breaks.
fn walk<C: Core>(make: &impl Fn(Bounds) -> C, seed: u64) -> (Trace, Vec<&'static str>) {
    let mut dice = Dice(seed);
    let tasks = dice.between(1, 10);
    let bounds = Bounds {
        tasks,
        gate: dice.between(1, tasks),
        values: dice.between(1, 4),
        max_resumes: dice.between(1, LONGEST_SEQUENCE),
        max_crashes: dice.between(0, 16),
        max_extra: dice.between(0, 8),
    };
    let mut world = World::new(make(bounds), bounds);
    let mut trace = Trace {
        bounds,
        actions: Vec::new(),
    };
    let mut broken = Vec::new();
    for _ in 0..dice.between(1, LONGEST_SEQUENCE) {
        let enabled = world.enabled();
        let Some((action, expected)) = enabled.get(dice.below(enabled.len())) else {
            break;
        };
        world.perform(*action, expected);
        trace.actions.push(*action);
        broken = world.broken();
        if !broken.is_empty() {
            break;
        }
    }
    (trace, broken)
}

/// SplitMix64: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % (n.max(1) as u64)) as usize
    }

    fn between(&mut self, least: u8, most: u8) -> u8 {
        least + self.below(usize::from(most - least) + 1) as u8
    }
}
