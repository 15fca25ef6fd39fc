//! The one lock that operations wait for, `src/planes.rs`, under a scheduler that decides every switch of threads.
//!
//! Every schedule of a checkpoint that waits for one other operation, random ones of up to eight operations, which land
//! by themselves or in the order of a queue. A pass says nothing of memory orderings, nor of what Python does between two
//! calls. A failure prints the schedule that replays it.
#[path = "../src/planes.rs"]
#[allow(dead_code, missing_docs)]
mod planes;

mod sync {
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}

use planes::What::{self, Checkpoint, Writes};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;
use Fate::{IsDropped, Lands};

/// What a waiter waits with, as `turns.wait_for` does: it is woken as often as something landed.
#[derive(Default)]
struct Woken(Mutex<u32>, Condvar);

impl Woken {
    fn put(&self) {
        *lock(&self.0) += 1;
        self.1.notify_one();
    }

    fn get(&self) {
        let mut count = lock(&self.0);
        while *count == 0 {
            count = self
                .1
                .wait(count)
                .unwrap_or_else(sync::PoisonError::into_inner);
        }
        *count -= 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(sync::PoisonError::into_inner)
}

type Planes = planes::Planes<&'static str, Arc<Woken>>;
const PLANE: &str = "plane";

/// How a waiter waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// It leaves a waker, then asks.
    AsItShould,
    /// It asks, then leaves a waker: what lands in between is missed.
    AsksFirst,
}

fn wait_for(planes: &Planes, seq: u64, waiting: Waiting) {
    let woken = Arc::new(Woken::default());
    if waiting == Waiting::AsItShould {
        planes.wake(&PLANE, seq, woken.clone());
    }
    while !planes.is_ready(&PLANE, seq) {
        if waiting == Waiting::AsksFirst {
            planes.wake(&PLANE, seq, woken.clone());
        }
        woken.get();
    }
}

fn finish(planes: &Planes, seq: u64) {
    for waker in planes.finish(&PLANE, seq).wake {
        waker.put();
    }
}

/// What becomes of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lands,
    /// It is dropped before it began, as a cancelled coroutine's.
    IsDropped,
}

/// How operations are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storing {
    /// Each when it may.
    Alone,
    /// In the order of a queue, in which others may stand behind it before it has landed.
    InAQueue,
}

/// Operations in the order of their arrival.
type Script = &'static [(What, &'static str, Fate)];

/// The operations arrive one after the other, as a loop hands them over, and each lands in a thread of its own: once,
/// and a checkpoint after everything that it has to wait for.
fn check(script: Script, storing: Storing) {
    let planes = Arc::new(Planes::new());
    let landed = Arc::new(Mutex::new(Vec::new()));
    // under way all the time, so that the plane lives and its numbers go on
    let anchor = planes.arrive(&PLANE, Writes, None);
    let mut threads = Vec::new();
    for (n, &(what, checkpoint, fate)) in script.iter().enumerate() {
        let seq = planes.arrive(&PLANE, what, Some(checkpoint.to_string()));
        assert_eq!(seq, anchor + 1 + n as u64, "the sequence has a gap");
        let (planes, landed) = (planes.clone(), landed.clone());
        threads.push(thread::spawn(move || {
            if fate == Lands {
                wait_for(&planes, seq, Waiting::AsItShould);
                let mut queue = lock(&landed);
                queue.push(n);
                if storing == Storing::InAQueue {
                    for waker in planes.queue(&PLANE, seq, true) {
                        waker.put();
                    }
                }
            }
            thread::yield_now();
            finish(&planes, seq);
        }));
    }
    for thread in threads {
        assert!(thread.join().is_ok());
    }
    finish(&planes, anchor);
    assert_eq!(planes.len(), 0, "a plane is left behind");
    assert_in_order(script, &lock(&landed));
}

fn assert_in_order(script: Script, order: &[usize]) {
    let lands = |n: usize| script[n].2 == Lands;
    let mut once = order.to_vec();
    once.sort_unstable();
    let expected: Vec<usize> = (0..script.len()).filter(|&n| lands(n)).collect();
    assert_eq!(once, expected);
    let place = |n: usize| order.iter().position(|&m| m == n);
    for (later, (what, parent, _)) in script.iter().enumerate() {
        for (earlier, (before, checkpoint, _)) in script[..later].iter().enumerate() {
            let waits = *what == Checkpoint && (*before == Checkpoint || checkpoint == parent);
            if waits && lands(earlier) && lands(later) {
                assert!(place(earlier) < place(later), "{order:?}");
            }
        }
    }
}

/// Two supersteps of two tasks each, one cancelled, and writes that arrive for a checkpoint before it does.
const EIGHT: Script = &[
    (Writes, "a", Lands),
    (Writes, "a", IsDropped),
    (Writes, "b", Lands),
    (Checkpoint, "a", Lands),
    (Writes, "b", Lands),
    (Checkpoint, "b", Lands),
    (Writes, "c", Lands),
    (Checkpoint, "c", Lands),
];

/// A checkpoint waits while others, which arrived before it, land in threads of their own.
fn one_waits(before: &'static [(What, &'static str)], waiting: Waiting) {
    let planes = Arc::new(Planes::new());
    let landed = Arc::new(Mutex::new(0));
    let earlier = |&(what, checkpoint): &(What, &str)| {
        let seq = planes.arrive(&PLANE, what, Some(checkpoint.to_string()));
        let (planes, landed) = (planes.clone(), landed.clone());
        thread::spawn(move || {
            *lock(&landed) += 1;
            finish(&planes, seq);
        })
    };
    let threads: Vec<_> = before.iter().map(earlier).collect();
    let seq = planes.arrive(&PLANE, Checkpoint, Some("a".to_string()));
    wait_for(&planes, seq, waiting);
    assert_eq!(*lock(&landed), before.len(), "it did not wait");
    finish(&planes, seq);
    for thread in threads {
        assert!(thread.join().is_ok());
    }
    assert_eq!(planes.len(), 0, "a plane is left behind");
}

#[test]
fn every_schedule_of_a_checkpoint_behind_another_operation_ends() {
    for before in [&[(Writes, "a")], &[(Checkpoint, "b")]] {
        shuttle::check_dfs(move || one_waits(before, Waiting::AsItShould), None);
    }
}

#[test]
fn random_schedules_of_eight_operations_land_in_order() {
    let both = &[(Writes, "a"), (Checkpoint, "b")];
    shuttle::check_random(|| one_waits(both, Waiting::AsItShould), 1_000);
    for storing in [Storing::Alone, Storing::InAQueue] {
        shuttle::check_random(move || check(EIGHT, storing), 1_000);
        shuttle::check_pct(move || check(EIGHT, storing), 1_000, 3);
    }
}

/// The scheduler does find a lost wake-up.
#[test]
#[should_panic(expected = "deadlock")]
fn a_waiter_that_asks_before_it_leaves_its_waker_is_found() {
    shuttle::check_dfs(|| one_waits(&[(Writes, "a")], Waiting::AsksFirst), None);
}

/// Threads that arrive while the end of another's operation makes the plane idle: they wait for each other, or for
/// nobody, and leave nothing behind.
#[test]
fn a_plane_may_become_idle_at_any_time() {
    shuttle::check_random(
        || {
            let planes = Arc::new(Planes::new());
            let under_way = Arc::new(Mutex::new(0));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (planes, under_way) = (planes.clone(), under_way.clone());
                    thread::spawn(move || {
                        let seq = planes.arrive(&PLANE, Checkpoint, None);
                        wait_for(&planes, seq, Waiting::AsItShould);
                        *lock(&under_way) += 1;
                        thread::yield_now();
                        assert_eq!(*lock(&under_way), 1, "two checkpoints land at once");
                        *lock(&under_way) -= 1;
                        finish(&planes, seq);
                    })
                })
                .collect();
            for thread in threads {
                assert!(thread.join().is_ok());
            }
            assert_eq!(planes.len(), 0, "a plane is left behind");
        },
        1_000,
    );
}
