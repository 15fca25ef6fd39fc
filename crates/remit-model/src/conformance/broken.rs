//! Cores with one planted fault each. A check that passes them all would show nothing.
use super::core::{Core, Shipped};
use remit_core::branch::Ordinal;
use remit_core::claim::{Input, State, Verdict};
use remit_core::recovery::{is_recorded, Decision, Record};
use remit_core::stray;
use remit_core::view::{Intent, Show, Write};

/// The faults: the model's six switches first, then mistakes of other kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Recovery runs everything again, and the ledger admits everything.
    Replay,
    /// A load shows a fork what was recorded before.
    ForkIgnore,
    /// An invalid state is made durable.
    InvalidPersist,
    /// Every second recovery runs the last durable task again, and the ledger admits it.
    NondetRecovery,
    /// A stray is taken for an answer, and the ledger admits the gated effect again.
    DoubleConsume,
    /// Recovery runs everything again, the gated effect alone is not admitted again.
    PrefixReplay,
    /// Recovery runs everything again, the ledger is sound.
    ReplayUnderLedger,
    /// Recovery looks at the record that landed last.
    OrderSensitive,
    /// The frontier does not move.
    StuckFrontier,
    /// All forks of a checkpoint are one branch.
    OneBranch,
    /// A redelivered fork becomes another branch.
    TokenForgotten,
    /// A gap between the ordinals of branches.
    OrdinalGap,
    /// An answer whose task failed is served to every later answer.
    StickyAnswer,
    /// Nothing recorded is ever shown, not even to a retry.
    ForgottenAnswer,
    /// A pending question is forgotten by recovery.
    VolatileParking,
    /// A claim that was consumed can be had again.
    ConsumedAgain,
    /// A claim is taken over before its lease has run out.
    LeaseIgnored,
    /// A claim is not taken over when its lease has run out.
    LeaseForEver,
    /// A claim is consumed by a run that was taken over.
    FenceIgnored,
    /// A failed run does not free its claim.
    KeptByFailure,
}

/// All faults.
pub const FAULTS: [Fault; 20] = [
    Fault::Replay,
    Fault::ForkIgnore,
    Fault::InvalidPersist,
    Fault::NondetRecovery,
    Fault::DoubleConsume,
    Fault::PrefixReplay,
    Fault::ReplayUnderLedger,
    Fault::OrderSensitive,
    Fault::StuckFrontier,
    Fault::OneBranch,
    Fault::TokenForgotten,
    Fault::OrdinalGap,
    Fault::StickyAnswer,
    Fault::ForgottenAnswer,
    Fault::VolatileParking,
    Fault::ConsumedAgain,
    Fault::LeaseIgnored,
    Fault::LeaseForEver,
    Fault::FenceIgnored,
    Fault::KeptByFailure,
];

/// The shipped core with a fault.
#[derive(Clone, Debug)]
pub struct Broken {
    shipped: Shipped,
    fault: Fault,
    gate: u64,
    forks: u64,
    plans: u64,
}

impl Broken {
    /// With this fault, in a run gated at a task.
    pub fn new(fault: Fault, gate: u8) -> Self {
        Broken {
            shipped: Shipped::default(),
            fault,
            gate: u64::from(gate),
            forks: 0,
            plans: 0,
        }
    }
}

impl Core for Broken {
    fn admit(&mut self, branch: u64, task: u64, effect: u64) -> bool {
        let admitted = self.shipped.admit(branch, task, effect);
        match self.fault {
            // forks have branches of their own, which these faults leave alone
            Fault::Replay | Fault::NondetRecovery => admitted || branch == 0,
            Fault::DoubleConsume => admitted || (branch == 0 && task == self.gate),
            Fault::PrefixReplay => admitted || (branch == 0 && task != self.gate),
            _ => admitted,
        }
    }

    fn commit(&mut self, task: u64, valid: bool) -> bool {
        match self.fault {
            Fault::InvalidPersist => self.shipped.commit(task, true),
            _ => self.shipped.commit(task, valid),
        }
    }

    fn frontier(&self) -> usize {
        match self.fault {
            Fault::StuckFrontier => self.shipped.frontier().min(1),
            _ => self.shipped.frontier(),
        }
    }

    fn fork(&mut self, checkpoint: u64, token: u64) -> Ordinal {
        match (self.fault, self.shipped.fork(checkpoint, token)) {
            (Fault::OneBranch, Ordinal::Fresh(_)) => Ordinal::Fresh(0),
            (Fault::OrdinalGap, Ordinal::Fresh(o)) => Ordinal::Fresh(o * 2),
            (Fault::TokenForgotten, Ordinal::Known(_)) => {
                self.forks += 1;
                self.shipped.fork(checkpoint, u64::MAX - self.forks)
            }
            (_, ordinal) => ordinal,
        }
    }

    fn view(&self, writes: &[Write], intent: Intent, answered: &[u32]) -> Vec<Show> {
        match self.fault {
            Fault::ForkIgnore if intent == Intent::Fork => vec![Show::Keep; writes.len()],
            Fault::StickyAnswer if intent == Intent::Answer => vec![Show::Keep; writes.len()],
            Fault::ForgottenAnswer => vec![Show::Hide; writes.len()],
            _ => self.shipped.view(writes, intent, answered),
        }
    }

    fn is_open(&self, writes: &[Write], task: u32) -> bool {
        self.fault != Fault::VolatileParking && self.shipped.is_open(writes, task)
    }

    fn plan(&mut self, log: &[Record], tasks: &[u64]) -> Vec<Decision> {
        self.plans += 1;
        let all_again = vec![Decision::Run; tasks.len()];
        match self.fault {
            Fault::Replay | Fault::PrefixReplay | Fault::ReplayUnderLedger => all_again,
            Fault::NondetRecovery if self.plans % 2 == 0 => {
                let last = log.iter().map(|r| r.task).max();
                let again = |t: &u64| Some(*t) >= last;
                let decide = |t| {
                    if again(t) {
                        Decision::Run
                    } else {
                        Decision::Skip
                    }
                };
                tasks.iter().map(decide).collect()
            }
            Fault::OrderSensitive => {
                let last = log.last().map_or(0, |r| r.task);
                let skips = |t: &u64| is_recorded(log, *t) && *t <= last;
                let decide = |t| {
                    if skips(t) {
                        Decision::Skip
                    } else {
                        Decision::Run
                    }
                };
                tasks.iter().map(decide).collect()
            }
            _ => self.shipped.plan(log, tasks),
        }
    }

    fn claim(&mut self, input: Input) -> Verdict {
        let state = &mut self.shipped.claim.state;
        let input = match (self.fault, input, *state) {
            (Fault::ConsumedAgain, Input::Acquire { .. }, State::Consumed { .. })
            | (Fault::LeaseIgnored, Input::Acquire { .. }, State::Held { .. }) => {
                *state = State::Free;
                input
            }
            (Fault::LeaseForEver, Input::Acquire { owner, lease, .. }, _) => {
                let now = 0;
                Input::Acquire { owner, now, lease }
            }
            (Fault::FenceIgnored, Input::Consume { .. }, State::Held { owner, fence, .. }) => {
                Input::Consume { owner, fence }
            }
            (Fault::KeptByFailure, Input::Release { .. }, _) => return Verdict::Accepted,
            _ => input,
        };
        self.shipped.claim(input)
    }

    fn judge_stray(&self) -> stray::Verdict {
        match self.fault {
            Fault::DoubleConsume => stray::Verdict::Accept,
            _ => self.shipped.judge_stray(),
        }
    }
}
