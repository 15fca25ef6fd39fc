//! The effect: every input to every effect over fences up to 3 and times up to 3, and at both ends of the integers,
//! against the table of what must hold; every sequence of up to five acts of two callers, of whom one may die; longer
//! ones of four callers from seeds, against a count of what really fired.
mod common;

use common::{for_seeds, sequences, Draw, BOTH};
use remit_core::effect::{decide, fresh, is_in_doubt, Doubt, Effect, Input, Owner, State, Verdict};

const FENCES: [u64; 6] = [0, 1, 2, 3, u64::MAX - 1, u64::MAX];
const TIMES: [u64; 6] = [0, 1, 2, 3, u64::MAX - 1, u64::MAX];
const OWNERS: [Owner; 3] = [Owner::Alive, Owner::Gone, Owner::Unknown];
const DOUBTS: [Doubt; 2] = [Doubt::Raise, Doubt::Retry];

/// Every effect that `decide` can reach, and as many that it cannot: the core is total.
fn effects() -> Vec<Effect> {
    let mut all = Vec::new();
    for last in FENCES {
        all.push(Effect {
            state: State::Free,
            last,
        });
        for fence in FENCES {
            let done = State::Done { fence };
            all.push(Effect { state: done, last });
            for until in TIMES {
                let state = State::Admitted { fence, until };
                all.push(Effect { state, last });
            }
        }
    }
    all
}

fn admissions() -> Vec<Input> {
    let mut all = Vec::new();
    for now in TIMES {
        for lease in TIMES {
            for holds in BOTH {
                for same in BOTH {
                    for owner in OWNERS {
                        for doubt in DOUBTS {
                            all.push(Input::Admit {
                                now,
                                lease,
                                holds,
                                same,
                                owner,
                                doubt,
                            });
                        }
                    }
                }
            }
        }
    }
    all
}

fn words() -> Vec<Input> {
    let mut all = Vec::new();
    for fence in FENCES {
        all.push(Input::Done { fence });
        all.push(Input::Release { fence });
        for now in TIMES {
            for owner in OWNERS {
                for fired in BOTH {
                    all.push(Input::Resolve {
                        now,
                        fence,
                        owner,
                        fired,
                    });
                }
            }
        }
    }
    all
}

#[test]
fn an_admission_is_answered_as_the_table_says() {
    let mut fired = 0_u64;
    let mut kept = 0_u64;
    for effect in effects() {
        for input in admissions() {
            let Input::Admit {
                now,
                lease,
                holds,
                same,
                owner,
                doubt,
            } = input
            else {
                continue;
            };
            let (then, verdict) = decide(effect, input);
            let in_doubt = match effect.state {
                State::Admitted { until, .. } => {
                    owner == Owner::Gone || (owner == Owner::Unknown && now >= until)
                }
                _ => false,
            };
            assert_eq!(is_in_doubt(effect, owner, now), in_doubt);
            let may_fire = holds
                && match effect.state {
                    State::Free => true,
                    State::Admitted { .. } => same && in_doubt && doubt == Doubt::Retry,
                    State::Done { .. } => false,
                };
            if may_fire && effect.last < u64::MAX {
                fired += 1;
                let (fence, until) = (effect.last + 1, now.saturating_add(lease));
                let state = State::Admitted { fence, until };
                assert_eq!(then, Effect { state, last: fence });
                assert_eq!(verdict, Verdict::Fresh { fence, until });
                continue;
            }
            kept += 1;
            assert_eq!(then, effect, "who may not fire changes nothing");
            let expected = match effect.state {
                _ if !holds => Verdict::Fenced,
                _ if may_fire => Verdict::Illegal,
                State::Free => unreachable!("free effects may fire"),
                State::Admitted { fence, .. } | State::Done { fence } if !same => {
                    Verdict::Mismatch { fence }
                }
                State::Done { fence } => Verdict::Replay { fence },
                State::Admitted { fence, .. } if in_doubt => Verdict::InDoubt { fence },
                State::Admitted { fence, .. } => Verdict::Racer { fence },
            };
            assert_eq!(verdict, expected, "{effect:?} {input:?}");
        }
    }
    assert!(fired > 0 && kept > 0);
}

#[test]
fn a_word_settles_the_last_admission_once_and_nothing_else() {
    for effect in effects() {
        for input in words() {
            let (then, verdict) = decide(effect, input);
            assert_eq!(then.last, effect.last, "a word admits nobody");
            let (fence, fires, may) = match input {
                Input::Done { fence } => (fence, true, true),
                Input::Release { fence } => (fence, false, true),
                Input::Resolve {
                    now,
                    fence,
                    owner,
                    fired,
                } => (fence, fired, is_in_doubt(effect, owner, now)),
                Input::Admit { .. } => continue,
            };
            let named = matches!(effect.state, State::Admitted { fence: f, .. } if f == fence);
            if named && may {
                assert_eq!(verdict, Verdict::Accepted);
                let state = if fires {
                    State::Done { fence }
                } else {
                    State::Free
                };
                assert_eq!(then.state, state);
                // said twice, it changes nothing, whatever is said
                for again in words() {
                    assert_eq!(decide(then, again).0, then, "{again:?}");
                }
            } else {
                assert_eq!(then, effect);
                let expected = if named {
                    Verdict::Racer { fence }
                } else if (1..=effect.last).contains(&fence) {
                    Verdict::Stale
                } else {
                    Verdict::Illegal
                };
                assert_eq!(verdict, expected, "{effect:?} {input:?}");
            }
        }
    }
}

/// What two or more callers of one effect do, and a ledger outside that counts. A caller that was admitted fires, or
/// fails before it fires, or dies on either side of firing; then it says what became of it, or never.
struct World {
    effect: Effect,
    now: u64,
    callers: Vec<Caller>,
    /// By whom and under which admission it fired.
    fired: Vec<u64>,
    /// The admission that the effect was made under by a person's word that it had not fired.
    forgiven: bool,
    retried: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Idle,
    Admitted { fence: u64, fired: bool },
    Dead { fence: u64 },
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Ask(usize, Doubt),
    Fire(usize),
    Say(usize),
    Die(usize),
    /// A person who looked outside says what is true.
    Person,
    Tick,
}

impl World {
    fn new(callers: usize) -> Self {
        World {
            effect: fresh(),
            now: 0,
            callers: vec![Caller::Idle; callers],
            fired: Vec::new(),
            forgiven: false,
            retried: false,
        }
    }

    fn owner(&self) -> Owner {
        let State::Admitted { fence, .. } = self.effect.state else {
            return Owner::Gone;
        };
        let alive = self
            .callers
            .iter()
            .any(|c| matches!(c, Caller::Admitted { fence: f, .. } if *f == fence));
        if alive {
            Owner::Alive
        } else {
            Owner::Gone
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Tick => self.now += 1,
            Act::Ask(i, doubt) => {
                if self.callers[i] != Caller::Idle {
                    return;
                }
                let in_doubt = is_in_doubt(self.effect, self.owner(), self.now);
                let (then, verdict) = decide(
                    self.effect,
                    Input::Admit {
                        now: self.now,
                        lease: 2,
                        holds: true,
                        same: true,
                        owner: self.owner(),
                        doubt,
                    },
                );
                self.effect = then;
                match verdict {
                    Verdict::Fresh { fence, .. } => {
                        self.retried |= in_doubt;
                        let fired = false;
                        self.callers[i] = Caller::Admitted { fence, fired };
                    }
                    Verdict::Replay { fence } => {
                        assert!(self.fired.contains(&fence), "a replay of what never fired");
                    }
                    Verdict::Racer { .. } => assert_eq!(self.owner(), Owner::Alive),
                    Verdict::InDoubt { .. } => assert_eq!(self.owner(), Owner::Gone),
                    other => unreachable!("{other:?}"),
                }
            }
            Act::Fire(i) => {
                if let Caller::Admitted {
                    fence,
                    fired: false,
                } = self.callers[i]
                {
                    self.fired.push(fence);
                    self.callers[i] = Caller::Admitted { fence, fired: true };
                }
            }
            Act::Say(i) => {
                if let Caller::Admitted { fence, fired } = self.callers[i] {
                    let word = if fired {
                        Input::Done { fence }
                    } else {
                        Input::Release { fence }
                    };
                    let (then, verdict) = decide(self.effect, word);
                    assert_eq!(verdict, Verdict::Accepted, "a living owner's word is taken");
                    self.effect = then;
                    self.callers[i] = Caller::Idle;
                }
            }
            Act::Die(i) => {
                if let Caller::Admitted { fence, .. } = self.callers[i] {
                    self.callers[i] = Caller::Dead { fence };
                }
            }
            Act::Person => {
                if let State::Admitted { fence, .. } = self.effect.state {
                    let fired = self.fired.contains(&fence);
                    let owner = self.owner();
                    let now = self.now;
                    let (then, verdict) = decide(
                        self.effect,
                        Input::Resolve {
                            now,
                            fence,
                            owner,
                            fired,
                        },
                    );
                    let expected = match owner {
                        Owner::Alive => Verdict::Racer { fence },
                        _ => Verdict::Accepted,
                    };
                    assert_eq!(verdict, expected);
                    self.forgiven |= verdict == Verdict::Accepted;
                    self.effect = then;
                }
            }
        }
    }

    /// It fired at most once, but where somebody asked for a retry of what was in doubt.
    fn check(&self) {
        assert!(self.fired.len() <= 1 || self.retried, "{:?}", self.fired);
        if let State::Done { fence } = self.effect.state {
            assert!(self.fired.contains(&fence), "done, and it never fired");
        }
    }

    /// Whatever happened, a person and a caller can complete it, and then it has fired.
    fn completes(&mut self) {
        for i in 0..self.callers.len() {
            self.act(Act::Die(i));
        }
        self.callers.push(Caller::Idle);
        let last = self.callers.len() - 1;
        self.act(Act::Person);
        self.act(Act::Ask(last, Doubt::Raise));
        self.act(Act::Fire(last));
        self.act(Act::Say(last));
        assert!(matches!(self.effect.state, State::Done { .. }));
        assert!(!self.fired.is_empty());
        self.check();
    }
}

#[test]
fn every_short_history_of_two_callers_fires_once_and_can_be_completed() {
    let mut acts = vec![Act::Person];
    for i in 0..2 {
        acts.extend([
            Act::Ask(i, Doubt::Raise),
            Act::Ask(i, Doubt::Retry),
            Act::Fire(i),
            Act::Say(i),
            Act::Die(i),
        ]);
    }
    let (mut retried, mut doubted, mut forgiven) = (0, 0, 0);
    for history in sequences(&acts, 5) {
        let mut world = World::new(2);
        for act in &history {
            world.act(*act);
            world.check();
        }
        retried += u64::from(world.fired.len() > 1);
        doubted += u64::from(is_in_doubt(world.effect, world.owner(), world.now));
        forgiven += u64::from(world.forgiven);
        world.completes();
    }
    assert!(
        doubted > 0 && forgiven > 0 && retried > 0,
        "the world is not vacuous"
    );
}

#[test]
fn longer_histories_of_four_callers_fire_once() {
    let draw = |draw: &mut Draw| {
        let mut world = World::new(4);
        for _ in 0..40 {
            let i = draw.below(4);
            let doubt = if draw.below(4) == 0 {
                Doubt::Retry
            } else {
                Doubt::Raise
            };
            let act = match draw.below(7) {
                0 | 1 => Act::Ask(i, doubt),
                2 => Act::Fire(i),
                3 => Act::Say(i),
                4 => Act::Die(i),
                5 => Act::Person,
                _ => Act::Tick,
            };
            if matches!(act, Act::Die(_)) && draw.below(3) > 0 {
                continue;
            }
            if let (Caller::Dead { fence }, true) = (world.callers[i], draw.below(2) == 0) {
                assert!(fence <= world.effect.last);
                world.callers[i] = Caller::Idle; // restarted
            }
            world.act(act);
            world.check();
        }
        world.completes();
    };
    for_seeds(3_000, draw);
}
