//! The commit frontier: which tasks are durable, in order.
use alloc::vec::Vec;

#[cfg(verus_only)]
use super::commit_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// Why a commit was refused; nothing was stored.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The state does not satisfy its schema.
    Invalid,
    /// The task is durable already, at this step.
    Durable {
        /// Where it stands.
        step: usize,
    },
    /// The stored frontier and the stored log disagree.
    Diverged {
        /// The stored frontier.
        frontier: usize,
        /// The log's length.
        log: usize,
    },
}

/// The durable prefix.
#[cfg_attr(verus_only, verus_verify)]
#[derive(PartialEq, Eq, Debug)]
pub struct Plane {
    /// What is durable, in order.
    pub log: Vec<u64>,
    /// How much is durable.
    pub frontier: usize,
}

/// Nothing is durable.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        well_formed(ret),
        ret.log@.len() == 0,
))]
pub fn empty() -> Plane {
    Plane {
        log: Vec::new(),
        frontier: 0,
    }
}

impl Plane {
    /// The step at which the task became durable, if it did.
    #[cfg_attr(verus_only, verus_spec(ret =>
        ensures
            match ret {
                Some(step) => first_step(self.log@, task, step as int),
                None => !self.log@.contains(task),
            },
    ))]
    pub fn step_of(&self, task: u64) -> Option<usize> {
        let mut i: usize = 0;
        #[cfg_attr(verus_only, verus_spec(
            invariant
                i <= self.log@.len(),
                forall|j: int| 0 <= j < i ==> #[trigger] self.log@[j] != task,
            decreases self.log@.len() - i,
        ))]
        while i < self.log.len() {
            if self.log[i] == task {
                return Some(i);
            }
            i += 1;
        }
        None
    }

    /// Makes a task's step durable and moves the frontier by one, or refuses and changes nothing.
    #[cfg_attr(verus_only, verus_spec(ret =>
        ensures
            outcome(*old(self), task, valid, ret),
            final(self).log@ == commit_log(*old(self), task, valid),
            final(self).frontier == commit_frontier(*old(self), task, valid),
            ret is Ok ==> valid
                && final(self).frontier == old(self).frontier + 1
                && ret == Ok::<usize, Refusal>(old(self).frontier)
                && final(self).log@ == old(self).log@.push(task)
                && !old(self).log@.contains(task),
            ret is Err ==> final(self).log@ == old(self).log@ && final(self).frontier == old(self).frontier,
            well_formed(*old(self)) ==> well_formed(*final(self)),
            well_formed(*old(self)) ==> (ret is Ok <==> valid && !old(self).log@.contains(task)),
            old(self).log@.is_prefix_of(final(self).log@),
    ))]
    pub fn commit(&mut self, task: u64, valid: bool) -> Result<usize, Refusal> {
        if !valid {
            return Err(Refusal::Invalid);
        }
        if self.frontier != self.log.len() {
            return Err(Refusal::Diverged {
                frontier: self.frontier,
                log: self.log.len(),
            });
        }
        match self.step_of(task) {
            Some(step) => {
                #[cfg(verus_only)]
                proof! {
                    lemma_step_in(self.log@, step as int, task);
                }
                Err(Refusal::Durable { step })
            }
            None => {
                let step = self.frontier;
                self.log.push(task);
                self.frontier = self.log.len();
                #[cfg(verus_only)]
                proof! {
                    theorem_commit(*old(self), task);
                }
                Ok(step)
            }
        }
    }
}
