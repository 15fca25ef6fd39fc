//! The consume claim: who may take one authority, that is, answer one set of open questions.
//!
//! Free, held by one owner under a fence until its lease ends, or consumed for good. The store keeps the row: it
//! writes what [`decide`] returns under the row's lock, or on the condition that the row has not changed, and hands
//! the verdict to the caller. The rules that the store keeps:
//!
//! - The row's key is the checkpoint with the identities of its open questions, never what is recorded beside them.
//! - Times are the store's own clock, in one unit. A time that was read earlier may be passed, a later one never.
//! - An owner is one run, so an owner that holds the claim is refused like any other.
//! - Where the checkpoint and the consumption are two writes, the head is read again after every grant.
#[cfg(verus_only)]
use super::claim_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// Where a claim stands.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nobody's.
    Free,
    /// A run's.
    Held {
        /// The run.
        owner: u64,
        /// Its grant.
        fence: u64,
        /// From then on others may take it.
        lease_end: u64,
    },
    /// Taken, for good.
    Consumed {
        /// The grant that took it.
        fence: u64,
    },
}

/// The claim on one authority.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// Where it stands.
    pub state: State,
    /// The last fence that was granted; 0 before the first grant.
    pub last: u64,
}

/// Why a claim is given back.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The run parked at the same questions and recorded no answer.
    ParkedAgain,
    /// It failed.
    Failed,
    /// It is gone.
    Abandoned,
    /// A person decided so.
    ByPerson,
}

/// What is asked of a claim.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// To have it.
    Acquire {
        /// Who asks.
        owner: u64,
        /// The store's time.
        now: u64,
        /// For how long.
        lease: u64,
    },
    /// To keep it longer. Never shortens the lease.
    Renew {
        /// Who holds it.
        owner: u64,
        /// Its grant.
        fence: u64,
        /// The store's time.
        now: u64,
        /// For how long from now.
        lease: u64,
    },
    /// To settle it for good.
    Consume {
        /// Who holds it.
        owner: u64,
        /// Its grant.
        fence: u64,
    },
    /// To give it back.
    Release {
        /// Who holds it.
        owner: u64,
        /// Its grant.
        fence: u64,
        /// For the record.
        why: Why,
    },
    /// To free it for a holder that is known to be dead.
    DeclareDead {
        /// Who held it.
        owner: u64,
        /// Its grant.
        fence: u64,
    },
}

/// What the caller is told.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is the caller's.
    Granted {
        /// Names the grant in every later word. Higher than every earlier one.
        fence: u64,
        /// From then on others may take it.
        lease_end: u64,
    },
    /// It stays the caller's.
    Renewed {
        /// From then on others may take it.
        lease_end: u64,
    },
    /// Consumed, released, or freed.
    Accepted,
    /// Another run has it.
    Refused {
        /// The run.
        holder: u64,
        /// Its grant.
        fence: u64,
        /// From then on it may be taken.
        lease_end: u64,
    },
    /// The grant that the caller names is over.
    Stale,
    /// It was consumed before, perhaps by the caller itself.
    AlreadyConsumed {
        /// The grant that took it.
        fence: u64,
    },
    /// The grant that the caller names was never made, or no fence is left to grant.
    Illegal,
}

/// Where a run stands with a claim.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It holds the claim.
    Current,
    /// The claim is consumed.
    Settled {
        /// The grant that took it.
        fence: u64,
    },
    /// Its grant is over.
    Over,
    /// It never had this grant.
    Unknown,
}

/// How a run that held the claim ended.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It stored a checkpoint.
    Put,
    /// It parked.
    ParkedAgain {
        /// Was an answer that it had been given recorded?
        answered: bool,
    },
    /// It failed.
    Failed,
    /// It was killed, cancelled or closed.
    Gone,
}

/// A claim that nobody has had: what a missing row stands for.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == fresh_spec(),
))]
pub fn fresh() -> Claim {
    Claim {
        state: State::Free,
        last: 0,
    }
}

/// When a lease taken at `now` ends. At the end of time, if the sum is beyond it.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == lease_end_spec(now, lease),
))]
pub fn lease_end(now: u64, lease: u64) -> u64 {
    if lease > u64::MAX - now {
        u64::MAX
    } else {
        now + lease
    }
}

/// Where the run that names this grant stands.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == standing_spec(claim, owner, fence),
))]
pub fn standing(claim: Claim, owner: u64, fence: u64) -> Standing {
    let granted = 1 <= fence && fence <= claim.last;
    match claim.state {
        State::Consumed { fence } => Standing::Settled { fence },
        State::Held {
            owner: holder,
            fence: current,
            lease_end: _,
        } => {
            if fence == current {
                if owner == holder {
                    Standing::Current
                } else {
                    Standing::Unknown
                }
            } else if granted {
                Standing::Over
            } else {
                Standing::Unknown
            }
        }
        State::Free => {
            if granted {
                Standing::Over
            } else {
                Standing::Unknown
            }
        }
    }
}

/// What a run that does not hold the claim is told.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == refusal(standing),
))]
fn refuse(standing: Standing) -> Verdict {
    match standing {
        Standing::Settled { fence } => Verdict::AlreadyConsumed { fence },
        Standing::Over => Verdict::Stale,
        Standing::Current => Verdict::Illegal,
        Standing::Unknown => Verdict::Illegal,
    }
}

/// Grants a claim that may be had.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        grantable(claim, now) ==> ret == next(claim, Input::Acquire { owner, now, lease }),
))]
fn grant(claim: Claim, owner: u64, now: u64, lease: u64) -> (Claim, Verdict) {
    if claim.last == u64::MAX {
        return (claim, Verdict::Illegal);
    }
    let fence = claim.last + 1;
    let lease_end = lease_end(now, lease);
    let state = State::Held {
        owner,
        fence,
        lease_end,
    };
    (
        Claim { state, last: fence },
        Verdict::Granted { fence, lease_end },
    )
}

/// The whole decision: the claim as it is then, and what the caller is told.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == next(claim, input),
))]
pub fn decide(claim: Claim, input: Input) -> (Claim, Verdict) {
    let last = claim.last;
    match input {
        Input::Acquire { owner, now, lease } => match claim.state {
            State::Free => grant(claim, owner, now, lease),
            State::Held {
                owner: holder,
                fence,
                lease_end,
            } => {
                if now >= lease_end {
                    grant(claim, owner, now, lease)
                } else {
                    let refused = Verdict::Refused {
                        holder,
                        fence,
                        lease_end,
                    };
                    (claim, refused)
                }
            }
            State::Consumed { fence } => (claim, Verdict::AlreadyConsumed { fence }),
        },
        Input::Renew {
            owner,
            fence,
            now,
            lease,
        } => match standing(claim, owner, fence) {
            Standing::Current => match claim.state {
                State::Held {
                    owner,
                    fence,
                    lease_end: old,
                } => {
                    let wanted = lease_end(now, lease);
                    let lease_end = if wanted > old { wanted } else { old };
                    let state = State::Held {
                        owner,
                        fence,
                        lease_end,
                    };
                    (Claim { state, last }, Verdict::Renewed { lease_end })
                }
                _ => (claim, Verdict::Illegal),
            },
            other => (claim, refuse(other)),
        },
        Input::Consume { owner, fence } => match standing(claim, owner, fence) {
            Standing::Current => {
                let state = State::Consumed { fence };
                (Claim { state, last }, Verdict::Accepted)
            }
            other => (claim, refuse(other)),
        },
        Input::Release {
            owner,
            fence,
            why: _,
        } => free(claim, owner, fence),
        Input::DeclareDead { owner, fence } => free(claim, owner, fence),
    }
}

/// Frees a claim that the named run holds.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == next(claim, Input::DeclareDead { owner, fence }),
))]
fn free(claim: Claim, owner: u64, fence: u64) -> (Claim, Verdict) {
    match standing(claim, owner, fence) {
        Standing::Current => {
            let free = Claim {
                state: State::Free,
                last: claim.last,
            };
            (free, Verdict::Accepted)
        }
        other => (claim, refuse(other)),
    }
}

/// What settles the claim of a run that has ended. A run that recorded an answer and parked consumes: what it parked
/// at is another authority, and a reader that saw the earlier position must not take this one again.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret == word_spec(owner, fence, fate),
))]
pub fn word(owner: u64, fence: u64, fate: Fate) -> Input {
    match fate {
        Fate::Put => Input::Consume { owner, fence },
        Fate::ParkedAgain { answered } => {
            if answered {
                Input::Consume { owner, fence }
            } else {
                Input::Release {
                    owner,
                    fence,
                    why: Why::ParkedAgain,
                }
            }
        }
        Fate::Failed => Input::Release {
            owner,
            fence,
            why: Why::Failed,
        },
        Fate::Gone => Input::Release {
            owner,
            fence,
            why: Why::Abandoned,
        },
    }
}
