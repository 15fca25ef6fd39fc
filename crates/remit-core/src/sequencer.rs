//! The order in which the operations of one plane (thread and namespace) land.
//!
//! Operations are numbered as they arrive. A checkpoint lands after the pending writes to its parent that arrived
//! before it, and after the checkpoints that did; pending writes wait for nothing, so that parallel tasks stay
//! parallel. (Writes to the checkpoint itself, or to a later one, may arrive before it: they are not waited for.)
//! Where what is stored goes through one queue, an operation may stand in it: whoever queues behind it lands after it,
//! and need not wait until it has landed. Finished operations are forgotten: memory is bounded by what is under way.
use alloc::vec::Vec;

/// What arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Pending writes to a checkpoint.
    Writes {
        /// The checkpoint, by a number.
        to: u64,
    },
    /// A checkpoint.
    Checkpoint {
        /// Its parent, by a number; `None` for the first of a plane.
        parent: Option<u64>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Operation {
    seq: u64,
    kind: Kind,
    is_queued: bool,
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
        self.under_way.push(Operation {
            seq,
            kind,
            is_queued: false,
        });
        seq
    }

    /// The operation stands in the queue, or (`false`) has left it and did not land.
    pub fn queue(&mut self, seq: u64, is_queued: bool) {
        let mut i: usize = 0;
        while i < self.under_way.len() {
            if self.under_way[i].seq == seq {
                self.under_way[i].is_queued = is_queued;
                return;
            }
            i += 1;
        }
    }

    /// May the operation land now, behind what stands in the queue?
    pub fn is_ready(&self, seq: u64) -> bool {
        let mut i: usize = 0;
        while i < self.under_way.len() {
            let o = self.under_way[i];
            if o.seq == seq {
                return match o.kind {
                    Kind::Writes { .. } => true,
                    Kind::Checkpoint { parent } => !self.is_held_up(i, parent),
                };
            }
            i += 1;
        }
        true
    }

    /// Is something under way, before the operation at this place, that a checkpoint with this parent waits for?
    fn is_held_up(&self, place: usize, parent: Option<u64>) -> bool {
        let mut i: usize = 0;
        while i < place && i < self.under_way.len() {
            let o = self.under_way[i];
            let waits = match o.kind {
                Kind::Writes { to } => parent == Some(to),
                Kind::Checkpoint { .. } => true,
            };
            if waits && !o.is_queued {
                return true;
            }
            i += 1;
        }
        false
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

    const WRITES: Kind = Kind::Writes { to: 1 };
    const CHILD: Kind = Kind::Checkpoint { parent: Some(1) };

    #[test]
    fn a_checkpoint_waits_for_the_writes_to_its_parent_and_for_nothing_after() {
        let mut s = Sequencer::default();
        let (a, b, c, d) = (
            s.arrive(WRITES),
            s.arrive(WRITES),
            s.arrive(CHILD),
            s.arrive(WRITES),
        );
        assert!(s.is_ready(a) && s.is_ready(b) && !s.is_ready(c) && s.is_ready(d));
        s.finish(b);
        assert!(!s.is_ready(c));
        s.finish(a);
        assert!(s.is_ready(c));
        s.finish(c);
        // what has landed is ready, and ends nothing else
        assert!(s.is_ready(c) && s.is_ready(u64::MAX));
        s.finish(c);
        assert!(!s.is_idle());
        s.finish(d);
        assert!(s.is_idle());
        s.finish(d);
        assert!(s.is_idle());
    }

    #[test]
    fn a_checkpoint_queues_behind_what_stands_in_the_queue() {
        let mut s = Sequencer::default();
        let (a, b, c) = (s.arrive(WRITES), s.arrive(WRITES), s.arrive(CHILD));
        s.queue(a, true);
        assert!(!s.is_ready(c));
        s.queue(b, true);
        assert!(s.is_ready(c));
        // what left the queue is waited for again
        s.queue(a, false);
        assert!(!s.is_ready(c));
        s.finish(a);
        assert!(s.is_ready(c));
        s.queue(a, true);
        assert!(s.is_ready(c));
    }

    #[test]
    fn a_checkpoint_does_not_wait_for_writes_to_itself_or_to_a_later_one() {
        let mut s = Sequencer::default();
        s.arrive(Kind::Writes { to: 2 });
        s.arrive(Kind::Writes { to: 3 });
        let c = s.arrive(CHILD);
        assert!(s.is_ready(c));
    }

    #[test]
    fn checkpoints_land_in_order() {
        let mut s = Sequencer::default();
        let (a, b) = (s.arrive(Kind::Checkpoint { parent: None }), s.arrive(CHILD));
        assert!(s.is_ready(a) && !s.is_ready(b));
        s.finish(a);
        assert!(s.is_ready(b));
    }
}
