//! What the world asks of the core. [`Shipped`] passes every question on to `remit-core` and adds nothing.
use remit_core::branch::{self, Forks, Ordinal};
use remit_core::claim::{self, Claim};
use remit_core::commit::{self, Plane};
use remit_core::ledger::{self, Ledger};
use remit_core::recovery::{self, Decision, Record};
use remit_core::stray::{self, Answer, Policy, Thread, Verdict};
use remit_core::view::{self, Intent, Show, Write};
use std::fmt::Debug;

/// The decisions under test.
pub trait Core: Clone + Debug {
    /// May an effect of a task fire on a branch?
    fn admit(&mut self, branch: u64, task: u64, effect: u64) -> bool;
    /// Is the task's completion made durable?
    fn commit(&mut self, task: u64, valid: bool) -> bool;
    /// How many tasks are durable?
    fn frontier(&self) -> usize;
    /// The branch of a fork at a checkpoint.
    fn fork(&mut self, checkpoint: u64, token: u64) -> Ordinal;
    /// What a load shows of the pending writes.
    fn view(&self, writes: &[Write], intent: Intent, answered: &[u32]) -> Vec<Show>;
    /// Is the task's first question open, as far as its pending writes say?
    fn is_open(&self, writes: &[Write], task: u32) -> bool;
    /// What recovery does with each task.
    fn plan(&mut self, log: &[Record], tasks: &[u64]) -> Vec<Decision>;
    /// What an input does to the claim on the gate's question.
    fn claim(&mut self, input: claim::Input) -> claim::Verdict;
    /// The verdict on a bare answer to a finished thread.
    fn judge_stray(&self) -> Verdict;
}

/// The core as it ships.
#[derive(Debug)]
pub struct Shipped {
    ledger: Ledger,
    plane: Plane,
    forks: Forks,
    /// What the store holds of the claim on the gate's question.
    pub claim: Claim,
}

impl Default for Shipped {
    fn default() -> Self {
        Shipped {
            ledger: ledger::empty(),
            plane: commit::empty(),
            forks: branch::empty(),
            claim: claim::fresh(),
        }
    }
}

// The core's structures are not `Clone`: only a search has a use for it.
impl Clone for Shipped {
    fn clone(&self) -> Self {
        Shipped {
            ledger: Ledger {
                records: self.ledger.records.clone(),
            },
            plane: Plane {
                log: self.plane.log.clone(),
                frontier: self.plane.frontier,
            },
            forks: Forks {
                entries: self.forks.entries.clone(),
            },
            claim: self.claim,
        }
    }
}

impl Core for Shipped {
    fn admit(&mut self, branch: u64, task: u64, effect: u64) -> bool {
        self.ledger.admit(branch, task, effect).is_ok()
    }

    fn commit(&mut self, task: u64, valid: bool) -> bool {
        self.plane.commit(task, valid).is_ok()
    }

    fn frontier(&self) -> usize {
        self.plane.frontier
    }

    fn fork(&mut self, checkpoint: u64, token: u64) -> Ordinal {
        self.forks.fork(checkpoint, Some(token))
    }

    fn view(&self, writes: &[Write], intent: Intent, answered: &[u32]) -> Vec<Show> {
        // one linear run: no other task can ask
        view::view(writes, intent, answered, true)
    }

    fn is_open(&self, writes: &[Write], task: u32) -> bool {
        view::asked(writes, task) == Some(view::answers(writes, task))
    }

    fn plan(&mut self, log: &[Record], tasks: &[u64]) -> Vec<Decision> {
        recovery::plan(log, tasks)
    }

    fn claim(&mut self, input: claim::Input) -> claim::Verdict {
        let (claim, verdict) = claim::decide(self.claim, input);
        self.claim = claim;
        verdict
    }

    fn judge_stray(&self) -> Verdict {
        let answer = Answer::Bare {
            takers: 0,
            refused: false,
        };
        stray::judge(Thread::Finished, answer, false, Policy::Warn)
    }
}
