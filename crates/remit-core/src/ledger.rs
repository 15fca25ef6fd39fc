//! The effect ledger: which effects have been admitted, in order. Append-only.
use alloc::vec::Vec;

#[cfg(verus_only)]
use super::ledger_spec::*;
#[cfg(verus_only)]
use vstd::prelude::*;

/// One admitted effect of one task on one branch.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// The branch.
    pub branch: u64,
    /// The task.
    pub task: u64,
    /// The effect, within the task.
    pub effect: u64,
}

/// The refusal: this effect was admitted before, at `seq`.
#[cfg_attr(verus_only, verus_verify)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Duplicate {
    /// Its place in the ledger.
    pub seq: usize,
}

/// The ledger.
#[cfg_attr(verus_only, verus_verify)]
#[derive(PartialEq, Eq, Debug)]
pub struct Ledger {
    /// In the order of admission.
    pub records: Vec<Record>,
}

/// A ledger without records.
#[cfg_attr(verus_only, verus_spec(ret =>
    ensures
        ret.records@.len() == 0,
        unique(ret.records@),
))]
pub fn empty() -> Ledger {
    Ledger {
        records: Vec::new(),
    }
}

impl Ledger {
    /// Where the effect was admitted, if it was.
    #[cfg_attr(verus_only, verus_spec(ret =>
        ensures
            match ret {
                Some(seq) => seq < self.records@.len()
                    && matches(self.records@[seq as int], branch, task, effect)
                    && count(self.records@.take(seq as int), branch, task, effect) == 0,
                None => count(self.records@, branch, task, effect) == 0,
            },
    ))]
    pub fn find(&self, branch: u64, task: u64, effect: u64) -> Option<usize> {
        let mut i: usize = 0;
        #[cfg_attr(verus_only, verus_spec(
            invariant
                i <= self.records@.len(),
                count(self.records@.take(i as int), branch, task, effect) == 0,
            decreases self.records@.len() - i,
        ))]
        while i < self.records.len() {
            let r = self.records[i];
            if r.branch == branch && r.task == task && r.effect == effect {
                return Some(i);
            }
            #[cfg(verus_only)]
            proof! {
                lemma_take_next(self.records@, i as int, branch, task, effect);
            }
            i += 1;
        }
        #[cfg(verus_only)]
        proof! {
            assert(self.records@.take(i as int) =~= self.records@);
        }
        None
    }

    /// Admits a fresh effect and appends its record; refuses one that was admitted before.
    #[cfg_attr(verus_only, verus_spec(ret =>
        ensures
            match ret {
                Ok(seq) => admitted(old(self).records@, final(self).records@, seq as int, branch, task, effect),
                Err(d) => final(self).records@ == old(self).records@
                    && d.seq < old(self).records@.len()
                    && matches(old(self).records@[d.seq as int], branch, task, effect),
            },
            ret is Ok <==> count(old(self).records@, branch, task, effect) == 0,
            final(self).records@ == admit_spec(old(self).records@, Record { branch, task, effect }),
            unique(old(self).records@) ==> unique(final(self).records@),
            old(self).records@.is_prefix_of(final(self).records@),
    ))]
    pub fn admit(&mut self, branch: u64, task: u64, effect: u64) -> Result<usize, Duplicate> {
        match self.find(branch, task, effect) {
            Some(seq) => {
                #[cfg(verus_only)]
                proof! {
                    lemma_index_counts(self.records@, seq as int, branch, task, effect);
                }
                Err(Duplicate { seq })
            }
            None => {
                let seq = self.records.len();
                self.records.push(Record {
                    branch,
                    task,
                    effect,
                });
                #[cfg(verus_only)]
                proof! {
                    theorem_admit_fresh(old(self).records@, Record { branch, task, effect });
                }
                Ok(seq)
            }
        }
    }
}
