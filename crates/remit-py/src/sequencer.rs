//! `remit_core::sequencer`: the planes of a saver, for Python.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use pyo3::prelude::*;

use crate::planes::{self, What};

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

/// A waker, counted outside of Python: to clone one under the lock touches no Python object.
type Waker = Arc<Py<PyAny>>;

type Shared = Arc<planes::Planes<Key, Waker>>;

impl From<Kind> for What {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Writes => What::Writes,
            Kind::Checkpoint => What::Checkpoint,
        }
    }
}

/// A waker that fails is reported, as its own waiter cannot be told; the others are woken all the same.
fn finish(py: Python<'_>, planes: &Shared, key: &Key, seq: u64) {
    for waker in planes.finish(key, seq).wake {
        if let Err(error) = waker.call0(py) {
            error.write_unraisable(py, Some(waker.bind(py)));
        }
    }
}

/// The planes of one saver.
#[pyclass(module = "remit._core", frozen)]
pub struct Planes(Shared);

#[pymethods]
impl Planes {
    #[new]
    fn new() -> Self {
        Planes(Arc::new(planes::Planes::new()))
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
        let seq = self.0.arrive(&key, kind.into(), checkpoint);
        Operation {
            planes: self.0.clone(),
            key,
            seq,
            finished: AtomicBool::new(false),
        }
    }

    /// How many planes have something under way.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Has a thread something under way?
    fn is_busy(&self, thread: &str) -> bool {
        self.0.any(|(of, _)| of == thread)
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
        self.planes.is_ready(&self.key, self.seq)
    }

    /// Calls `waker`, from any thread, whenever something of the plane has landed. Ask `is_ready` again after this,
    /// and after each call.
    fn wake(&self, waker: Py<PyAny>) {
        self.planes.wake(&self.key, self.seq, Arc::new(waker));
    }

    /// It has landed, or failed.
    fn finish(&self, py: Python<'_>) {
        if !self.finished.swap(true, Ordering::AcqRel) {
            finish(py, &self.planes, &self.key, self.seq);
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.finished.swap(true, Ordering::AcqRel) {
            let (planes, key, seq) = (&self.planes, &self.key, self.seq);
            let _ = Python::try_attach(|py| finish(py, planes, key, seq));
        }
    }
}
