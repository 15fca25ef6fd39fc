//! The planes (thread and namespace) of one saver that have something under way, behind one lock.
//!
//! Nothing of Python is here, so that a test can run it under a scheduler: `crate::sync` is the standard library's in
//! the extension, and shuttle's in `tests/planes.rs`.
//!
//! An operation arrives at its plane, may be waited for, and is forgotten when it has landed; a plane is forgotten
//! when nothing is under way there. Who waits leaves a waker first and then asks whether it may land, and asks again
//! each time it is woken. The wakers that a call takes out are handed to the caller, who drops or calls them when the
//! lock is free again: either may run anything, also another operation's end.
use crate::sync::{Mutex, MutexGuard, PoisonError};
use remit_core::sequencer::{Kind, Sequencer};
use std::collections::HashMap;
use std::hash::Hash;

struct Plane<W> {
    sequencer: Sequencer,
    checkpoints: HashMap<String, u64>,
    wakers: Vec<(u64, W)>,
}

/// What arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Pending writes of a task, to a checkpoint.
    Writes,
    /// A checkpoint with a parent.
    Checkpoint,
}

/// What an operation's end leaves to do, without the lock.
pub struct Landed<W> {
    /// To be called: somebody else waits.
    pub wake: Vec<W>,
    /// To be dropped: nobody waits with them.
    pub spent: Vec<W>,
}

/// The planes, by key.
pub struct Planes<K, W>(Mutex<HashMap<K, Plane<W>>>);

impl<W> Plane<W> {
    fn new() -> Self {
        Plane {
            sequencer: Sequencer::default(),
            checkpoints: HashMap::new(),
            wakers: Vec::new(),
        }
    }

    fn arrive(&mut self, what: What, checkpoint: Option<String>) -> u64 {
        let fresh = self.checkpoints.len() as u64;
        let number = checkpoint.map(|id| *self.checkpoints.entry(id).or_insert(fresh));
        self.sequencer.arrive(match what {
            // writes to no checkpoint hold up nothing: they get a number that is nobody's
            What::Writes => Kind::Writes {
                to: number.unwrap_or(u64::MAX),
            },
            What::Checkpoint => Kind::Checkpoint { parent: number },
        })
    }
}

impl<K: Clone + Eq + Hash, W: Clone> Planes<K, W> {
    /// Nothing is under way.
    pub fn new() -> Self {
        Planes(Mutex::new(HashMap::new()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Plane<W>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers an operation: writes to a checkpoint, or a checkpoint with this parent.
    pub fn arrive(&self, key: &K, what: What, checkpoint: Option<String>) -> u64 {
        let mut planes = self.lock();
        match planes.get_mut(key) {
            Some(plane) => plane.arrive(what, checkpoint),
            None => planes
                .entry(key.clone())
                .or_insert_with(Plane::new)
                .arrive(what, checkpoint),
        }
    }

    /// May it land now, behind what stands in the queue?
    pub fn is_ready(&self, key: &K, seq: u64) -> bool {
        match self.lock().get(key) {
            Some(plane) => plane.sequencer.is_ready(seq),
            None => true,
        }
    }

    /// It stands in the queue through which everything is stored, or has left it and did not land. What is left to do
    /// without the lock: others may queue behind it.
    pub fn queue(&self, key: &K, seq: u64, is_queued: bool) -> Vec<W> {
        let mut planes = self.lock();
        let Some(plane) = planes.get_mut(key) else {
            return Vec::new();
        };
        plane.sequencer.queue(seq, is_queued);
        plane
            .wakers
            .iter()
            .map(|(_, waker)| waker.clone())
            .collect()
    }

    /// To be called whenever something of the plane has landed or stands in the queue.
    pub fn wake(&self, key: &K, seq: u64, waker: W) {
        if let Some(plane) = self.lock().get_mut(key) {
            plane.wakers.push((seq, waker));
        }
    }

    /// It has landed, or failed, or will never run.
    pub fn finish(&self, key: &K, seq: u64) -> Landed<W> {
        let mut landed = Landed {
            wake: Vec::new(),
            spent: Vec::new(),
        };
        let mut planes = self.lock();
        if let Some(plane) = planes.get_mut(key) {
            plane.sequencer.finish(seq);
            let (own, others) = plane.wakers.drain(..).partition(|(of, _)| *of == seq);
            plane.wakers = others;
            landed.spent = own.into_iter().map(|(_, waker)| waker).collect();
            landed.wake = plane
                .wakers
                .iter()
                .map(|(_, waker)| waker.clone())
                .collect();
            if plane.sequencer.is_idle() {
                let gone = planes.remove(key);
                let left = gone.into_iter().flat_map(|plane| plane.wakers);
                landed.spent.extend(left.map(|(_, waker)| waker));
            }
        }
        landed
    }

    /// Has one of the planes with such a key something under way?
    pub fn any(&self, is_meant: impl Fn(&K) -> bool) -> bool {
        self.lock().keys().any(is_meant)
    }

    /// How many planes have something under way.
    pub fn len(&self) -> usize {
        self.lock().len()
    }
}
