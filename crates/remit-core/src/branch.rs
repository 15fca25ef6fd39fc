//! Branch keys: a fork at a checkpoint is ⟨checkpoint, ordinal⟩.
use alloc::vec::Vec;

#[cfg(verus_only)]
use super::branch_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// One fork that was handed out. Never removed: an abandoned fork keeps its ordinal.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fork {
    /// Where it forks from.
    pub checkpoint: u64,
    /// From 0, without gaps.
    pub ordinal: usize,
    /// The name that the caller gave it.
    pub token: Option<u64>,
}

/// The ordinal of a fork.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ordinal {
    /// The token named this fork before.
    Known(usize),
    /// The next free ordinal of the checkpoint.
    Fresh(usize),
}

/// The forks that were handed out.
#[cfg_attr(verus_only, verus_verify)]
#[derive(PartialEq, Eq, Debug)]
pub struct Forks {
    /// In the order of their making.
    pub entries: Vec<Fork>,
}

/// No fork was handed out.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret.entries@.len() == 0,
        well_formed(ret.entries@),
))]
pub fn empty() -> Forks {
    Forks {
        entries: Vec::new(),
    }
}

impl Forks {
    /// How many forks a checkpoint has: the next free ordinal.
    #[cfg_attr(verus_only, verus_spec(ret =>
        ensures
            ret == forks_of(self.entries@, checkpoint),
    ))]
    pub fn next(&self, checkpoint: u64) -> usize {
        let mut n: usize = 0;
        let mut i: usize = 0;
        #[cfg_attr(verus_only, verus_spec(
            invariant
                n <= i <= self.entries@.len(),
                n == forks_of(self.entries@.take(i as int), checkpoint),
            decreases self.entries@.len() - i,
        ))]
        while i < self.entries.len() {
            #[cfg(verus_only)]
            proof! {
                lemma_take_next(self.entries@, i as int, checkpoint);
            }
            if self.entries[i].checkpoint == checkpoint {
                n += 1;
            }
            i += 1;
        }
        #[cfg(verus_only)]
        proof! {
            assert(self.entries@.take(i as int) =~= self.entries@);
        }
        n
    }

    /// The ordinal that a token names at a checkpoint, if it was used there.
    #[cfg_attr(verus_only, verus_spec(ret =>
        ensures
            match ret {
                Some(o) => names(self.entries@, checkpoint, token, o),
                None => !used(self.entries@, checkpoint, token),
            },
    ))]
    pub fn find(&self, checkpoint: u64, token: u64) -> Option<usize> {
        let mut i: usize = 0;
        #[cfg_attr(verus_only, verus_spec(
            invariant
                i <= self.entries@.len(),
                forall|j: int| 0 <= j < i ==> !carries(#[trigger] self.entries@[j], checkpoint, token),
            decreases self.entries@.len() - i,
        ))]
        while i < self.entries.len() {
            let f = self.entries[i];
            if f.checkpoint == checkpoint {
                if let Some(t) = f.token {
                    if t == token {
                        return Some(f.ordinal);
                    }
                }
            }
            i += 1;
        }
        None
    }

    /// Names a branch: the token's own one, or a fresh one.
    #[cfg_attr(verus_only, verus_spec(ret =>
        ensures
            match ret {
                Ordinal::Known(o) => final(self).entries@ == old(self).entries@
                    && token is Some && names(old(self).entries@, checkpoint, token->0, o),
                Ordinal::Fresh(o) => o == forks_of(old(self).entries@, checkpoint)
                    && final(self).entries@ == old(self).entries@.push(Fork { checkpoint, ordinal: o, token })
                    && (token is Some ==> !used(old(self).entries@, checkpoint, token->0)),
            },
            well_formed(old(self).entries@) ==> well_formed(final(self).entries@),
            well_formed(old(self).entries@) && token is Some ==> names(
                final(self).entries@, checkpoint, token->0, ordinal_of(ret)),
            old(self).entries@.is_prefix_of(final(self).entries@),
    ))]
    pub fn fork(&mut self, checkpoint: u64, token: Option<u64>) -> Ordinal {
        if let Some(t) = token {
            if let Some(ordinal) = self.find(checkpoint, t) {
                return Ordinal::Known(ordinal);
            }
        }
        let ordinal = self.next(checkpoint);
        self.entries.push(Fork {
            checkpoint,
            ordinal,
            token,
        });
        #[cfg(verus_only)]
        proof! {
            theorem_fresh(old(self).entries@, Fork { checkpoint, ordinal, token });
            assert(self.entries@[old(self).entries@.len() as int] == Fork { checkpoint, ordinal, token });
        }
        Ordinal::Fresh(ordinal)
    }
}
