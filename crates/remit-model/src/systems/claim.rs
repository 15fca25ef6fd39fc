//! The consume claim: workers that want to answer one thread's questions, and a store that keeps the claims.
//!
//! No TLA+ module says this: every claim is decided by `remit_core::claim` itself, and every word that settles one is
//! `remit_core::claim::word`'s. What is modelled is the world around it. A thread parks at questions, two at a
//! checkpoint. Workers read the head, ask for the claim of the question they saw, run, and end in one of the five
//! ways; they stop for any time anywhere in between, and crash. A time that is passed on may be any earlier one.
//! Anybody who holds a claim may be declared dead, rightly or wrongly. All runs of a worker have one owner, so that
//! more can be mixed up here than where each run has its own.
use super::run::tuple;
use crate::bits::{width, Reader, Writer};
use crate::checker::{Error, Property, System};
use remit_core::claim::{self, decide, standing, word, Claim, Fate, Input, Standing, Verdict};
use std::fmt;
use std::hash::{Hash, Hasher};

/// How many workers there are.
pub const WORKERS: usize = 3;

/// The most questions of a thread.
const MOST_QUESTIONS: usize = 3;

/// The questions at one checkpoint.
const AT_A_CHECKPOINT: u8 = 2;

/// How long a lease is, in ticks.
const LEASE: u64 = 1;

/// A time at which every lease has run out, and somebody who comes then.
const LATE: u64 = 1 << 32;
const NEWCOMER: u64 = WORKERS as u64;

/// How large a world is searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Questions of the thread, one after the other.
    pub questions: u8,
    /// Crashes.
    pub crashes: u8,
    /// Claims granted.
    pub grants: u8,
    /// Ticks of the store's clock.
    pub ticks: u8,
}

/// Rules that look as if they might do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The claim's key is the checkpoint, whatever is open there.
    PerCheckpoint,
    /// The claim's key follows what is recorded beside the question.
    KeyFollowsRecord,
    /// A run that recorded an answer and parked again gives the claim back.
    AnswerFrees,
    /// A run that failed, parked again or was abandoned says nothing of it.
    KeepsOnFailure,
    /// A run's writes are taken without a look at its claim.
    Unfenced,
    /// In two writes: a run that was granted the claim does not read the head again.
    NoSecondLook,
    /// A time that is passed on may be ahead of the store's clock.
    ClockAhead,
}

/// All faults.
pub const FAULTS: [Fault; 7] = [
    Fault::PerCheckpoint,
    Fault::KeyFollowsRecord,
    Fault::AnswerFrees,
    Fault::KeepsOnFailure,
    Fault::Unfenced,
    Fault::NoSecondLook,
    Fault::ClockAhead,
];

/// The bounds at which both kinds of store are searched.
pub const REFERENCE: Bounds = Bounds {
    questions: 2,
    crashes: 2,
    grants: 4,
    ticks: 2,
};

/// With a question at the next checkpoint.
pub const THREE_QUESTIONS: Bounds = Bounds {
    questions: 3,
    grants: 5,
    ..REFERENCE
};

/// The bounds of the faults.
pub const MATRIX: Bounds = Bounds {
    grants: 3,
    ticks: 1,
    ..REFERENCE
};

/// The system.
#[derive(Clone, Copy, Debug)]
pub struct ConsumeClaim {
    /// Constants.
    pub bounds: Bounds,
    /// The store writes checkpoint and claim one after the other, and a process may die in between.
    pub two_writes: bool,
    /// A wrong rule.
    pub fault: Option<Fault>,
}

/// What a reader sees of the thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    /// The question that is open; as many as there are: the thread is finished.
    pub question: u8,
    /// An answer to it is on record that came to nothing.
    pub recorded: bool,
}

/// What a run believes to hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hold {
    /// Where it read that the thread stood.
    pub read: Position,
    /// Its grant.
    pub fence: u8,
}

/// What a worker is at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Worker {
    /// Nothing.
    Idle,
    /// It has read the head, perhaps long ago.
    Reading(Position),
    /// It was granted the claim, and has not read the head again (two writes).
    Granted(Hold),
    /// It runs.
    Running(Hold),
    /// Its answer is stored, its claim not settled (two writes).
    Stored(Hold),
}

/// A claim in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// As the core has it.
    pub claim: Claim,
    /// Its holder died.
    pub dead: bool,
}

/// The world.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    clock: u8,
    crashes: u8,
    grants: u8,
    at: Position,
    workers: [Worker; WORKERS],
    rows: [Row; 2 * MOST_QUESTIONS],
    /// How often each authority was taken; 2 stands for more.
    taken: [u8; MOST_QUESTIONS],
    /// A claim was taken over before its lease had run out.
    stolen: bool,
}

/// What happens, to which worker, and what the store says to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Action {
    what: What,
    told: Option<Verdict>,
}

/// See [`Action`]. Workers are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Read(usize),
    Acquire(usize, u64),
    TakeOver(usize, u64),
    LookAgain(usize),
    Renew(usize, u64),
    Answer(usize, Fate),
    Settle(usize, Fate),
    End(usize, Fate),
    Crash(usize),
    DeclareDead(usize),
    Tick,
}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (kind, owner, fence, lease_end) = parts(self.claim);
        (kind, owner, fence, lease_end, self.claim.last, self.dead).hash(state);
    }
}

/// Kind, owner, fence and end of the lease, as numbers.
fn parts(claim: Claim) -> (usize, u64, u64, u64) {
    match claim.state {
        claim::State::Free => (0, 0, 0, 0),
        claim::State::Held {
            owner,
            fence,
            lease_end,
        } => (1, owner, fence, lease_end),
        claim::State::Consumed { fence } => (2, 0, fence, 0),
    }
}

impl Worker {
    fn hold(&self) -> Option<Hold> {
        match self {
            Worker::Idle | Worker::Reading(_) => None,
            Worker::Granted(h) | Worker::Running(h) | Worker::Stored(h) => Some(*h),
        }
    }
}

impl ConsumeClaim {
    /// What `models/results.csv` has in place of a module.
    pub const MODULE: &'static str = "ConsumeClaim";

    /// The system of a run of `models/results.csv`.
    pub fn of_run(name: &str) -> Result<Self, Error> {
        let system = |bounds, two_writes, fault| ConsumeClaim {
            bounds,
            two_writes,
            fault,
        };
        let cell = name.strip_prefix("claim/matrix/");
        let fault = cell.and_then(|cell| cell.split_once('_')).map(|(f, _)| f);
        match (name, fault) {
            ("claim/one_transaction", _) => Some(system(REFERENCE, false, None)),
            ("claim/two_writes", _) => Some(system(REFERENCE, true, None)),
            ("claim/three_questions", _) => Some(system(THREE_QUESTIONS, false, None)),
            (_, Some(name)) => FAULTS
                .iter()
                .find(|fault| format!("{fault:?}") == name)
                .map(|fault| system(MATRIX, *fault == Fault::NoSecondLook, Some(*fault))),
            _ => None,
        }
        .ok_or_else(|| Error::Configuration(format!("no such run: {name}")))
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn is_finished(&self, s: &State) -> bool {
        s.at.question >= self.bounds.questions
    }

    /// The place of the claim on what is open at a position.
    fn row(&self, at: Position) -> usize {
        let question = usize::from(at.question);
        match self.fault {
            Some(Fault::PerCheckpoint) => usize::from(at.question / AT_A_CHECKPOINT),
            Some(Fault::KeyFollowsRecord) => 2 * question + usize::from(at.recorded),
            _ => question,
        }
    }

    /// How many rows are used.
    fn rows(&self) -> usize {
        let last = self.row(Position {
            question: self.bounds.questions - 1,
            recorded: true,
        });
        last + 1
    }

    fn times(&self, s: &State) -> std::ops::RangeInclusive<u64> {
        0..=u64::from(s.clock) + u64::from(self.has(Fault::ClockAhead))
    }

    fn stands(&self, s: &State, owner: u64, hold: Hold) -> Standing {
        let row = &s.rows[self.row(hold.read)];
        standing(row.claim, owner, u64::from(hold.fence))
    }

    // ---- what is asked of the store ----

    /// An input at the row of what was read. What changes a claim comes from somebody who is alive.
    fn ask(&self, s: &mut State, read: Position, input: Input) -> Verdict {
        let row = &mut s.rows[self.row(read)];
        let (claim, verdict) = decide(row.claim, input);
        if claim != row.claim {
            *row = Row { claim, dead: false };
        }
        verdict
    }

    /// How a run ends that answers its question: another question at the same checkpoint, or the next checkpoint.
    fn fate(&self, question: u8) -> Fate {
        let next = question + 1;
        if next % AT_A_CHECKPOINT == 0 || next == self.bounds.questions {
            Fate::Put
        } else {
            Fate::ParkedAgain { answered: true }
        }
    }

    /// A run's last word on its claim.
    fn settle(&self, s: &mut State, owner: u64, hold: Hold, fate: Fate) -> Verdict {
        let said = match fate {
            Fate::ParkedAgain { .. } if self.has(Fault::AnswerFrees) => {
                Fate::ParkedAgain { answered: false }
            }
            fate => fate,
        };
        self.ask(s, hold.read, word(owner, u64::from(hold.fence), said))
    }

    /// A run's answer is stored: the thread moves on.
    fn store(&self, s: &mut State, read: Position) {
        let question = read.question;
        let taken = &mut s.taken[usize::from(question)];
        *taken = (*taken + 1).min(2);
        if s.at.question <= question {
            s.at = Position {
                question: question + 1,
                recorded: false,
            };
        }
    }

    // ---- steps ----

    fn acquire(&self, s: &State, w: usize, read: Position, now: u64) -> Option<(Action, State)> {
        let before = s.rows[self.row(read)].claim;
        let mut next = *s;
        let input = Input::Acquire {
            owner: w as u64,
            now,
            lease: LEASE,
        };
        let told = self.ask(&mut next, read, input);
        let held = matches!(before.state, claim::State::Held { .. });
        let granted = matches!(told, Verdict::Granted { .. });
        next.workers[w] = match told {
            Verdict::Granted { fence, .. } => {
                let hold = Hold {
                    read,
                    fence: fence as u8,
                };
                next.grants += 1;
                if self.two_writes && !self.has(Fault::NoSecondLook) {
                    Worker::Granted(hold)
                } else {
                    Worker::Running(hold)
                }
            }
            _ => Worker::Idle,
        };
        if let (true, claim::State::Held { lease_end, .. }) = (granted, before.state) {
            next.stolen |= u64::from(s.clock) < lease_end;
        }
        let what = if held && granted {
            What::TakeOver(w, now)
        } else {
            What::Acquire(w, now)
        };
        let told = Some(told);
        (next.grants <= self.bounds.grants).then_some((Action { what, told }, next))
    }

    /// Two writes: what was granted is run if the thread stands where it was read, else consumed.
    fn look_again(&self, s: &State, w: usize, hold: Hold) -> (Action, State) {
        let mut next = *s;
        let stands = !self.is_finished(s) && self.row(s.at) == self.row(hold.read);
        let told = if stands {
            next.workers[w] = Worker::Running(hold);
            None
        } else {
            next.workers[w] = Worker::Idle;
            Some(self.settle(&mut next, w as u64, hold, Fate::Put))
        };
        let what = What::LookAgain(w);
        (Action { what, told }, next)
    }

    fn renew(&self, s: &State, w: usize, hold: Hold, now: u64) -> (Action, State) {
        let mut next = *s;
        let input = Input::Renew {
            owner: w as u64,
            fence: u64::from(hold.fence),
            now,
            lease: LEASE,
        };
        let told = self.ask(&mut next, hold.read, input);
        if !matches!(told, Verdict::Renewed { .. }) {
            next.workers[w] = Worker::Idle;
        }
        let (what, told) = (What::Renew(w, now), Some(told));
        (Action { what, told }, next)
    }

    /// A run answers its question: in one transaction with its claim, or under a look at it.
    fn answer(&self, s: &State, w: usize, hold: Hold) -> (Action, State) {
        let mut next = *s;
        let fate = self.fate(hold.read.question);
        let may = self.has(Fault::Unfenced)
            || matches!(self.stands(s, w as u64, hold), Standing::Current);
        if may {
            self.store(&mut next, hold.read);
        }
        let told = if may && self.two_writes {
            next.workers[w] = Worker::Stored(hold);
            None
        } else {
            next.workers[w] = Worker::Idle;
            Some(self.settle(&mut next, w as u64, hold, fate))
        };
        let what = What::Answer(w, fate);
        (Action { what, told }, next)
    }

    /// Two writes: the second one.
    fn settle_stored(&self, s: &State, w: usize, hold: Hold) -> (Action, State) {
        let mut next = *s;
        let fate = self.fate(hold.read.question);
        let told = Some(self.settle(&mut next, w as u64, hold, fate));
        next.workers[w] = Worker::Idle;
        let what = What::Settle(w, fate);
        (Action { what, told }, next)
    }

    /// A run ends without having answered. If it failed, the answer it was given stays on record.
    fn end(&self, s: &State, w: usize, hold: Hold, fate: Fate) -> (Action, State) {
        let mut next = *s;
        next.workers[w] = Worker::Idle;
        next.at.recorded |= fate == Fate::Failed && s.at.question == hold.read.question;
        let told = if self.has(Fault::KeepsOnFailure) {
            None
        } else {
            Some(self.settle(&mut next, w as u64, hold, fate))
        };
        let what = What::End(w, fate);
        (Action { what, told }, next)
    }

    fn crash(&self, s: &State, w: usize, hold: Hold) -> (Action, State) {
        let mut next = *s;
        next.workers[w] = Worker::Idle;
        next.crashes += 1;
        let holds = matches!(self.stands(s, w as u64, hold), Standing::Current);
        next.rows[self.row(hold.read)].dead |= holds;
        let what = What::Crash(w);
        (Action { what, told: None }, next)
    }

    fn declare_dead(&self, s: &State, row: usize) -> Option<(Action, State)> {
        let claim::State::Held { owner, fence, .. } = s.rows[row].claim.state else {
            return None;
        };
        let mut next = *s;
        let (claim, told) = decide(s.rows[row].claim, Input::DeclareDead { owner, fence });
        next.rows[row] = Row { claim, dead: false };
        let action = Action {
            what: What::DeclareDead(owner as usize),
            told: Some(told),
        };
        Some((action, next))
    }

    // ---- what can be demanded ----

    /// Is the open question's claim to be had, once the leases have run out?
    fn is_takeable(&self, s: &State) -> bool {
        self.is_finished(s) || self.is_granted_to_a_newcomer(&mut s.clone()).is_some()
    }

    fn is_granted_to_a_newcomer(&self, s: &mut State) -> Option<Hold> {
        let read = s.at;
        let input = Input::Acquire {
            owner: NEWCOMER,
            now: LATE,
            lease: LEASE,
        };
        match self.ask(s, read, input) {
            Verdict::Granted { fence, .. } => Some(Hold {
                read,
                fence: fence as u8,
            }),
            _ => None,
        }
    }

    /// Does somebody who comes once the leases have run out, and meets nobody, finish the thread?
    fn is_completable(&self, s: &State) -> bool {
        let mut s = *s;
        while !self.is_finished(&s) {
            let Some(hold) = self.is_granted_to_a_newcomer(&mut s) else {
                return false;
            };
            let fate = self.fate(hold.read.question);
            self.store(&mut s, hold.read);
            if self.settle(&mut s, NEWCOMER, hold, fate) != Verdict::Accepted {
                return false;
            }
        }
        true
    }

    /// Is each claim that is held somebody's who is still at it, or of one who died?
    fn is_freed(&self, s: &State) -> bool {
        let rows = s.rows.iter().enumerate();
        let mut held = rows.filter_map(|(place, row)| match row.claim.state {
            claim::State::Held { owner, fence, .. } if !row.dead => Some((place, owner, fence)),
            _ => None,
        });
        held.all(|(place, owner, fence)| {
            let hold = s.workers.get(owner as usize).and_then(Worker::hold);
            hold.is_some_and(|h| self.row(h.read) == place && u64::from(h.fence) == fence)
        })
    }

    /// Those who run under a grant that is not over.
    fn running<'a>(&'a self, s: &'a State) -> impl Iterator<Item = Hold> + 'a {
        (0..).zip(&s.workers).filter_map(|(owner, w)| match w {
            Worker::Running(h) if self.stands(s, owner, *h) == Standing::Current => Some(*h),
            _ => None,
        })
    }
}

fn beliefs(s: &State) -> impl Iterator<Item = Hold> + '_ {
    s.workers.iter().filter_map(Worker::hold)
}

impl System for ConsumeClaim {
    type State = State;
    type Action = Action;
    const FAIR: usize = 0;

    fn init(&self) -> State {
        let row = Row {
            claim: claim::fresh(),
            dead: false,
        };
        State {
            clock: 0,
            crashes: 0,
            grants: 0,
            at: Position {
                question: 0,
                recorded: false,
            },
            workers: [Worker::Idle; WORKERS],
            rows: [row; 2 * MOST_QUESTIONS],
            taken: [0; MOST_QUESTIONS],
            stolen: false,
        }
    }

    fn next(&self, s: &State, step: &mut impl FnMut(Action, State)) {
        let untold = |what| Action { what, told: None };
        for w in 0..WORKERS {
            match s.workers[w] {
                Worker::Idle => {
                    if !self.is_finished(s) {
                        let mut next = *s;
                        next.workers[w] = Worker::Reading(s.at);
                        step(untold(What::Read(w)), next);
                    }
                }
                Worker::Reading(read) => {
                    for now in self.times(s) {
                        if let Some((action, next)) = self.acquire(s, w, read, now) {
                            step(action, next);
                        }
                    }
                }
                Worker::Granted(hold) => {
                    let (action, next) = self.look_again(s, w, hold);
                    step(action, next);
                }
                Worker::Running(hold) => {
                    let (action, next) = self.answer(s, w, hold);
                    step(action, next);
                    for fate in [
                        Fate::Failed,
                        Fate::ParkedAgain { answered: false },
                        Fate::Gone,
                    ] {
                        let (action, next) = self.end(s, w, hold, fate);
                        step(action, next);
                    }
                    for now in self.times(s) {
                        let (action, next) = self.renew(s, w, hold, now);
                        step(action, next);
                    }
                }
                Worker::Stored(hold) => {
                    let (action, next) = self.settle_stored(s, w, hold);
                    step(action, next);
                }
            }
            if let Some(hold) = s.workers[w].hold() {
                if s.crashes < self.bounds.crashes {
                    let (action, next) = self.crash(s, w, hold);
                    step(action, next);
                }
            }
        }
        for row in 0..self.rows() {
            if let Some((action, next)) = self.declare_dead(s, row) {
                step(action, next);
            }
        }
        if s.clock < self.bounds.ticks {
            let mut next = *s;
            next.clock += 1;
            step(untold(What::Tick), next);
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property {
                name: "TypeOK",
                always: |_, s| {
                    s.rows.iter().all(|row| {
                        let (kind, _, fence, _) = parts(row.claim);
                        kind == 0 || (fence >= 1 && fence == row.claim.last)
                    })
                },
                sometimes: |m, s| m.is_finished(s),
            },
            Property {
                name: "COc",
                always: |_, s| s.taken.iter().all(|n| *n <= 1),
                // somebody believes to hold what was taken
                sometimes: |_, s| beliefs(s).any(|h| s.taken[usize::from(h.read.question)] == 1),
            },
            Property {
                name: "OneRun",
                always: |m, s| {
                    m.running(s).count() <= 1
                        && m.running(s).all(|h| h.read.question == s.at.question)
                },
                // two believe to hold one claim
                sometimes: |_, s| beliefs(s).count() > 1,
            },
            Property {
                name: "Takeable",
                always: |m, s| m.is_takeable(s),
                // an earlier authority was taken
                sometimes: |m, s| s.at.question > 0 && !m.is_finished(s),
            },
            Property {
                name: "Completable",
                always: |m, s| m.is_completable(s),
                sometimes: |m, s| s.crashes == m.bounds.crashes && m.is_finished(s),
            },
            Property {
                name: "Freed",
                always: |m, s| m.is_freed(s),
                sometimes: |_, s| s.rows.iter().any(|row| row.dead),
            },
            Property {
                name: "Lease",
                always: |_, s| !s.stolen,
                // somebody wants what another's lease keeps
                sometimes: |m, s| {
                    s.workers.iter().any(|w| match w {
                        Worker::Reading(read) => {
                            let (kind, _, _, lease_end) = parts(s.rows[m.row(*read)].claim);
                            kind == 1 && u64::from(s.clock) < lease_end
                        }
                        _ => false,
                    })
                },
            },
        ]
    }

    fn is_goal(&self, s: &State) -> bool {
        self.is_finished(s)
    }

    fn fair(_: &Action) -> Option<usize> {
        None
    }

    fn event(a: &Action) -> Option<&'static str> {
        Some(match (a.what, a.told?) {
            (What::TakeOver(..), Verdict::Granted { .. }) => "taken over after its lease",
            (_, Verdict::Granted { .. }) => "granted",
            (_, Verdict::Renewed { .. }) => "renewed",
            (_, Verdict::Refused { .. }) => "refused",
            (_, Verdict::Stale) => "stale",
            (_, Verdict::AlreadyConsumed { .. }) => "already consumed",
            (_, Verdict::Illegal) => "illegal",
            (What::LookAgain(_), Verdict::Accepted) => "consumed at the second look",
            (What::DeclareDead(_), Verdict::Accepted) => "declared dead",
            (What::Answer(_, fate) | What::Settle(_, fate) | What::End(_, fate), _) => match fate {
                Fate::Put => "consumed by a checkpoint",
                Fate::ParkedAgain { answered: true } => "consumed by a park with an answer",
                Fate::ParkedAgain { answered: false } => "freed by a re-park",
                Fate::Failed => "freed by a failure",
                Fate::Gone => "freed by abandonment",
            },
            _ => return None,
        })
    }

    fn pack(&self, s: &State, w: &mut Writer) {
        let b = &self.bounds;
        let grant = width(usize::from(b.grants));
        let question = width(usize::from(b.questions));
        let position = |w: &mut Writer, p: Position| {
            w.number(usize::from(p.question), question);
            w.flag(p.recorded);
        };
        w.number(usize::from(s.clock), width(usize::from(b.ticks)));
        w.number(usize::from(s.crashes), width(usize::from(b.crashes)));
        w.number(usize::from(s.grants), grant);
        position(w, s.at);
        for worker in s.workers {
            let kind = match worker {
                Worker::Idle => 0,
                Worker::Reading(_) => 1,
                Worker::Granted(_) => 2,
                Worker::Running(_) => 3,
                Worker::Stored(_) => 4,
            };
            w.number(kind, 3);
            if let Worker::Reading(read) = worker {
                position(w, read);
            }
            if let Some(hold) = worker.hold() {
                position(w, hold.read);
                w.number(usize::from(hold.fence), grant);
            }
        }
        for row in &s.rows[..self.rows()] {
            let (kind, owner, fence, lease_end) = parts(row.claim);
            w.number(kind, 2);
            w.number(row.claim.last as usize, grant);
            w.fail_unless(kind == 0 || fence == row.claim.last);
            if kind == 1 {
                w.number(owner as usize, width(WORKERS - 1));
                w.number(lease_end as usize, self.lease_ends());
                w.flag(row.dead);
            }
        }
        for taken in &s.taken[..usize::from(b.questions)] {
            w.number(usize::from(*taken), 2);
        }
        w.flag(s.stolen);
    }

    fn unpack(&self, r: &mut Reader) -> State {
        let b = &self.bounds;
        let grant = width(usize::from(b.grants));
        let question = width(usize::from(b.questions));
        let position = |r: &mut Reader| Position {
            question: r.number(question) as u8,
            recorded: r.flag(),
        };
        let hold = |r: &mut Reader| Hold {
            read: position(r),
            fence: r.number(grant) as u8,
        };
        let mut s = self.init();
        s.clock = r.number(width(usize::from(b.ticks))) as u8;
        s.crashes = r.number(width(usize::from(b.crashes))) as u8;
        s.grants = r.number(grant) as u8;
        s.at = position(r);
        for worker in &mut s.workers {
            *worker = match r.number(3) {
                0 => Worker::Idle,
                1 => Worker::Reading(position(r)),
                2 => Worker::Granted(hold(r)),
                3 => Worker::Running(hold(r)),
                _ => Worker::Stored(hold(r)),
            };
        }
        for row in &mut s.rows[..self.rows()] {
            let kind = r.number(2);
            let last = r.number(grant) as u64;
            let fence = last;
            row.claim.last = last;
            row.claim.state = match kind {
                0 => claim::State::Free,
                1 => claim::State::Held {
                    owner: r.number(width(WORKERS - 1)) as u64,
                    fence,
                    lease_end: r.number(self.lease_ends()) as u64,
                },
                _ => claim::State::Consumed { fence },
            };
            row.dead = kind == 1 && r.flag();
        }
        for taken in &mut s.taken[..usize::from(b.questions)] {
            *taken = r.number(2) as u8;
        }
        s.stolen = r.flag();
        s
    }

    fn variables(&self, s: &State) -> Vec<(&'static str, String)> {
        let position = |p: &Position| {
            let recorded = if p.recorded {
                " after a failed answer"
            } else {
                ""
            };
            format!("question {}{recorded}", p.question + 1)
        };
        let at = if self.is_finished(s) {
            "finished".to_string()
        } else {
            position(&s.at)
        };
        let under = |h: &Hold| format!("{} under fence {}", position(&h.read), h.fence);
        let workers = s.workers.iter().map(|w| match w {
            Worker::Idle => "idle".to_string(),
            Worker::Reading(read) => format!("read {}", position(read)),
            Worker::Granted(h) => format!("was granted {}", under(h)),
            Worker::Running(h) => format!("runs {}", under(h)),
            Worker::Stored(h) => format!("stored {}", under(h)),
        });
        let claims = s.rows[..self.rows()]
            .iter()
            .map(|row| match row.claim.state {
                claim::State::Free => format!("free after fence {}", row.claim.last),
                claim::State::Held {
                    owner,
                    fence,
                    lease_end,
                } => {
                    let dead = if row.dead { " (dead)" } else { "" };
                    let worker = owner + 1;
                    format!("w{worker}'s{dead} under fence {fence} until {lease_end}")
                }
                claim::State::Consumed { fence } => format!("consumed under fence {fence}"),
            });
        vec![
            ("clock", s.clock.to_string()),
            ("crashes", s.crashes.to_string()),
            ("grants", s.grants.to_string()),
            ("at", at),
            ("workers", tuple(workers)),
            ("claims", tuple(claims)),
            (
                "taken",
                tuple(s.taken[..usize::from(self.bounds.questions)].iter()),
            ),
            ("stolen", s.stolen.to_string()),
        ]
    }
}

impl ConsumeClaim {
    fn lease_ends(&self) -> u32 {
        width(usize::from(self.bounds.ticks) + 2 * LEASE as usize)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Read(w) => write!(f, "Read(w{})", w + 1),
            What::Acquire(w, now) => write!(f, "Acquire(w{}, at {now})", w + 1),
            What::TakeOver(w, now) => write!(f, "TakeOver(w{}, at {now})", w + 1),
            What::LookAgain(w) => write!(f, "LookAgain(w{})", w + 1),
            What::Renew(w, now) => write!(f, "Renew(w{}, at {now})", w + 1),
            What::Answer(w, fate) => write!(f, "Answer(w{}, {fate:?})", w + 1),
            What::Settle(w, fate) => write!(f, "Settle(w{}, {fate:?})", w + 1),
            What::End(w, fate) => write!(f, "End(w{}, {fate:?})", w + 1),
            What::Crash(w) => write!(f, "Crash(w{})", w + 1),
            What::DeclareDead(w) => write!(f, "DeclareDead(w{})", w + 1),
            What::Tick => write!(f, "Tick"),
        }?;
        match self.told {
            Some(told) => write!(f, ": {told:?}"),
            None => Ok(()),
        }
    }
}
