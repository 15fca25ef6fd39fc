//! `remit_core::sequencer`: the planes that have something under way.
//!
//! An operation arrives at its plane, may be waited for, and is forgotten when it has landed; a plane is forgotten
//! when nothing is under way there. No Python code runs while the lock is held, so an operation may be dropped by
//! the garbage collector at any point.
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use remit_core::sequencer as core;

/// What arrived at a plane.
#[pyclass(
    module = "remit._core",
    eq,
    frozen,
    hash,
    from_py_object,
    rename_all = "SCREAMING_SNAKE_CASE"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Pending writes of a task.
    Writes,
    /// A checkpoint.
    Checkpoint,
}

type Key = (String, String);

#[derive(Default)]
struct Plane {
    sequencer: core::Sequencer,
    checkpoints: HashMap<String, u64>,
    wakers: Vec<(u64, Arc<Py<PyAny>>)>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<HashMap<Key, Plane>>>);

impl Plane {
    fn arrive(&mut self, kind: Kind, checkpoint: Option<String>) -> u64 {
        let fresh = self.checkpoints.len() as u64;
        let number = checkpoint.map(|id| *self.checkpoints.entry(id).or_insert(fresh));
        self.sequencer.arrive(match kind {
            // writes to no checkpoint hold up nothing: they get a number that is nobody's
            Kind::Writes => core::Kind::Writes {
                to: number.unwrap_or(u64::MAX),
            },
            Kind::Checkpoint => core::Kind::Checkpoint { parent: number },
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Plane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, py: Python<'_>, key: &Key, seq: u64) -> PyResult<()> {
        let mut wakers = Vec::new();
        {
            let mut planes = self.lock();
            if let Some(plane) = planes.get_mut(key) {
                plane.sequencer.finish(seq);
                plane.wakers.retain(|(of, _)| *of != seq);
                wakers.extend(plane.wakers.iter().map(|(_, waker)| waker.clone()));
                if plane.sequencer.is_idle() {
                    planes.remove(key);
                }
            }
        }
        for waker in wakers {
            waker.call0(py)?;
        }
        Ok(())
    }
}

/// The planes of one saver.
#[pyclass(module = "remit._core", frozen)]
pub struct Planes(Shared);

#[pymethods]
impl Planes {
    #[new]
    fn new() -> Self {
        Planes(Shared::default())
    }

    /// Numbers an operation of a plane: writes to a checkpoint, or a checkpoint with this parent.
    fn arrive(
        &self,
        thread: String,
        namespace: String,
        kind: Kind,
        checkpoint: Option<String>,
    ) -> Operation {
        let key = (thread, namespace);
        let seq = {
            let mut planes = self.0.lock();
            match planes.get_mut(&key) {
                Some(plane) => plane.arrive(kind, checkpoint),
                None => planes
                    .entry(key.clone())
                    .or_default()
                    .arrive(kind, checkpoint),
            }
        };
        Operation {
            planes: self.0.clone(),
            key,
            seq,
            finished: AtomicBool::new(false),
        }
    }

    /// How many planes have something under way.
    fn __len__(&self) -> usize {
        self.0.lock().len()
    }

    /// Has a thread something under way?
    fn is_busy(&self, thread: &str) -> bool {
        self.0.lock().keys().any(|(of, _)| of == thread)
    }
}

/// One operation's place in its plane. If it is dropped before it has finished, it will never run, and holds up
/// nothing.
#[pyclass(module = "remit._core", frozen)]
pub struct Operation {
    planes: Shared,
    key: Key,
    seq: u64,
    finished: AtomicBool,
}

#[pymethods]
impl Operation {
    /// May it land now?
    fn is_ready(&self) -> bool {
        match self.planes.lock().get(&self.key) {
            Some(plane) => plane.sequencer.is_ready(self.seq),
            None => true,
        }
    }

    /// Calls `waker`, from any thread, whenever something of the plane has landed. Ask `is_ready` again after this,
    /// and after each call.
    fn wake(&self, waker: Py<PyAny>) {
        if let Some(plane) = self.planes.lock().get_mut(&self.key) {
            plane.wakers.push((self.seq, Arc::new(waker)));
        }
    }

    /// It has landed, or failed.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        if self.finished.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.planes.finish(py, &self.key, self.seq)
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.finished.swap(true, Ordering::AcqRel) {
            let (planes, key, seq) = (&self.planes, &self.key, self.seq);
            // a waker that fails has nobody left to tell
            let _ = Python::try_attach(|py| planes.finish(py, key, seq).is_ok());
        }
    }
}
