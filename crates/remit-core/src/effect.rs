//! The durable effect: who may fire one, and what is known of it when its process is gone.
//!
//! Free, admitted to one owner under a fence, or done for good. The store keeps a row per admission and never changes
//! a settled one: it adds the admission that [`decide`] returns on the condition that the fence is not taken yet, and
//! settles one on the condition that it is the last. That an effect is in doubt is not a state: it is what an admission
//! is whose owner is gone. The rules that the store keeps:
//!
//! - The row's key is the effect's identity: thread, branch, task, name and key. Arguments are compared, never a key.
//! - Whether the caller still holds its claim is read with the admission, in one step.
//! - Times are the store's own clock, in one unit. A time that was read earlier may be passed, a later one never.
use crate::claim::lease_end;

#[cfg(verus_only)]
use super::effect_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// Where an effect stands.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It has not fired: never admitted, or released.
    Free,
    /// It may have fired.
    Admitted {
        /// The admission.
        fence: u64,
        /// Until then an owner of which nothing is known is taken for alive.
        until: u64,
    },
    /// It has fired.
    Done {
        /// The admission that did it.
        fence: u64,
    },
}

/// One effect.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Where it stands.
    pub state: State,
    /// The last admission; 0 before the first.
    pub last: u64,
}

/// What is known of whoever was admitted last.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// It is executing.
    Alive,
    /// It will not say any more what became of the effect.
    Gone,
    /// It is out of sight.
    Unknown,
}

/// What the user wants of an effect in doubt.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// To be told.
    Raise,
    /// To fire it again: whoever receives it knows it by its key.
    Retry,
}

/// What is asked of an effect.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// To fire it, or to have what it returned.
    Admit {
        /// The store's time.
        now: u64,
        /// For how long an owner out of sight is taken for alive.
        lease: u64,
        /// Does the caller hold what entitles it to execute?
        holds: bool,
        /// Are the arguments those of the last admission?
        same: bool,
        /// Who was admitted last, if it is not settled.
        owner: Owner,
        /// If it is in doubt.
        doubt: Doubt,
    },
    /// Its owner says that it has fired.
    Done {
        /// The owner's admission.
        fence: u64,
    },
    /// Its owner says that it has not fired.
    Release {
        /// The owner's admission.
        fence: u64,
    },
    /// A person says what became of it.
    Resolve {
        /// The store's time.
        now: u64,
        /// The admission that the person looked at.
        fence: u64,
        /// Who was admitted.
        owner: Owner,
        /// Has it fired?
        fired: bool,
    },
}

/// What the caller is told.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is the caller's to fire.
    Fresh {
        /// Names the admission in its owner's word. Higher than every earlier one.
        fence: u64,
        /// Until then an owner out of sight is taken for alive.
        until: u64,
    },
    /// It has fired before: the caller gets what it returned.
    Replay {
        /// The admission that did it.
        fence: u64,
    },
    /// Another caller is firing it.
    Racer {
        /// The other's admission.
        fence: u64,
    },
    /// It may have fired, and nobody is there to say.
    InDoubt {
        /// The admission.
        fence: u64,
    },
    /// It was admitted with other arguments.
    Mismatch {
        /// That admission.
        fence: u64,
    },
    /// The caller no longer holds what entitles it to execute.
    Fenced,
    /// The word is taken.
    Accepted,
    /// The admission that the caller names is over.
    Stale,
    /// The admission that the caller names was never made, or none is left to make.
    Illegal,
}

/// An effect that nobody has asked for: what a missing row stands for.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == fresh_spec(),
))]
pub fn fresh() -> Effect {
    Effect {
        state: State::Free,
        last: 0,
    }
}

/// Is the effect in doubt: admitted, with nobody there to say what became of it?
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == in_doubt(effect, owner, now),
))]
pub fn is_in_doubt(effect: Effect, owner: Owner, now: u64) -> bool {
    match effect.state {
        State::Admitted { fence: _, until } => match owner {
            Owner::Alive => false,
            Owner::Gone => true,
            Owner::Unknown => now >= until,
        },
        _ => false,
    }
}

/// The whole decision: the effect as it is then, and what the caller is told.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == decide_spec(effect, input),
))]
pub fn decide(effect: Effect, input: Input) -> (Effect, Verdict) {
    match input {
        Input::Admit {
            now,
            lease,
            holds,
            same,
            owner,
            doubt,
        } => {
            if !holds {
                return (effect, Verdict::Fenced);
            }
            match effect.state {
                State::Free => grant(effect, now, lease),
                State::Done { fence } => {
                    if same {
                        (effect, Verdict::Replay { fence })
                    } else {
                        (effect, Verdict::Mismatch { fence })
                    }
                }
                State::Admitted { fence, until: _ } => {
                    if !same {
                        (effect, Verdict::Mismatch { fence })
                    } else if !is_in_doubt(effect, owner, now) {
                        (effect, Verdict::Racer { fence })
                    } else {
                        match doubt {
                            Doubt::Raise => (effect, Verdict::InDoubt { fence }),
                            Doubt::Retry => grant(effect, now, lease),
                        }
                    }
                }
            }
        }
        Input::Done { fence } => settle(effect, fence, true),
        Input::Release { fence } => settle(effect, fence, false),
        Input::Resolve {
            now,
            fence,
            owner,
            fired,
        } => {
            if is_open(effect, fence) && !is_in_doubt(effect, owner, now) {
                (effect, Verdict::Racer { fence })
            } else {
                settle(effect, fence, fired)
            }
        }
    }
}

/// Admits a caller.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == admit_spec(effect, now, lease),
))]
fn grant(effect: Effect, now: u64, lease: u64) -> (Effect, Verdict) {
    if effect.last == u64::MAX {
        return (effect, Verdict::Illegal);
    }
    let fence = effect.last + 1;
    let until = lease_end(now, lease);
    let state = State::Admitted { fence, until };
    (
        Effect { state, last: fence },
        Verdict::Fresh { fence, until },
    )
}

/// Is this the admission that is not settled yet?
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == open_at(effect, fence),
))]
fn is_open(effect: Effect, fence: u64) -> bool {
    match effect.state {
        State::Admitted {
            fence: current,
            until: _,
        } => current == fence,
        _ => false,
    }
}

/// Settles the admission that is named, if it is not settled yet.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == settle_spec(effect, fence, fired),
))]
fn settle(effect: Effect, fence: u64, fired: bool) -> (Effect, Verdict) {
    let last = effect.last;
    if is_open(effect, fence) {
        let state = if fired {
            State::Done { fence }
        } else {
            State::Free
        };
        (Effect { state, last }, Verdict::Accepted)
    } else if 1 <= fence && fence <= last {
        (effect, Verdict::Stale)
    } else {
        (effect, Verdict::Illegal)
    }
}
