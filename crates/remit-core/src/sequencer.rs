//! The order in which the operations of one plane (thread and namespace) land.
//!
//! Operations are numbered as they arrive. A checkpoint lands after everything that arrived before it; pending
//! writes wait for nothing, so that parallel tasks stay parallel. Finished operations are forgotten: memory is
//! bounded by what is under way.
use alloc::vec::Vec;

/// What arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Pending writes of a task.
    Writes,
    /// A checkpoint.
    Checkpoint,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Operation {
    seq: u64,
    kind: Kind,
}

/// The operations under way, in the order of their arrival.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Sequencer {
    next: u64,
    under_way: Vec<Operation>,
}

impl Sequencer {
    /// Numbers an operation.
    pub fn arrive(&mut self, kind: Kind) -> u64 {
        let seq = self.next;
        self.next = self.next.saturating_add(1);
        self.under_way.push(Operation { seq, kind });
        seq
    }

    /// May the operation land now?
    pub fn is_ready(&self, seq: u64) -> bool {
        let mut i: usize = 0;
        while i < self.under_way.len() {
            let o = self.under_way[i];
            if o.seq == seq {
                return i == 0 || matches!(o.kind, Kind::Writes);
            }
            i += 1;
        }
        true
    }

    /// The operation has landed, or failed: it no longer holds anything up.
    pub fn finish(&mut self, seq: u64) {
        let mut i: usize = 0;
        while i < self.under_way.len() {
            if self.under_way[i].seq == seq {
                self.under_way.remove(i);
                return;
            }
            i += 1;
        }
    }

    /// Is nothing under way?
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_waits_for_all_before_it_and_for_nothing_after() {
        let mut s = Sequencer::default();
        let a = s.arrive(Kind::Writes);
        let b = s.arrive(Kind::Writes);
        let c = s.arrive(Kind::Checkpoint);
        let d = s.arrive(Kind::Writes);
        assert!(s.is_ready(a) && s.is_ready(b) && !s.is_ready(c) && s.is_ready(d));
        s.finish(b);
        assert!(!s.is_ready(c));
        s.finish(a);
        assert!(s.is_ready(c));
        s.finish(c);
        s.finish(d);
        assert!(s.is_idle());
        s.finish(d);
        assert!(s.is_idle());
    }

    #[test]
    fn checkpoints_land_in_order() {
        let mut s = Sequencer::default();
        let a = s.arrive(Kind::Checkpoint);
        let b = s.arrive(Kind::Checkpoint);
        assert!(s.is_ready(a) && !s.is_ready(b));
        s.finish(a);
        assert!(s.is_ready(b));
    }
}
