//! `remit_core::sequencer`: the planes of a saver, for Python.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::intern;
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

fn finish(py: Python<'_>, planes: &Shared, key: &Key, seq: u64) {
    wake(py, planes.finish(key, seq).wake);
}

/// A waker that fails is reported, as its own waiter cannot be told; the others are woken all the same.
fn wake(py: Python<'_>, wakers: Vec<Waker>) {
    for waker in wakers {
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
        self.number((thread, namespace), kind, checkpoint)
    }

    /// The same, as a call's `configurable` says.
    fn arrive_as(&self, configurable: &Bound<'_, PyAny>, kind: Kind) -> PyResult<Operation> {
        let py = configurable.py();
        let get = |name| match configurable.get_item(name) {
            Ok(value) => Ok((!value.is_none()).then_some(value)),
            Err(error) if error.is_instance_of::<PyKeyError>(py) => Ok(None),
            Err(error) => Err(error),
        };
        let thread = configurable.get_item(intern!(py, "thread_id"))?;
        let thread = thread.str()?.to_str()?.to_owned();
        let namespace = match get(intern!(py, "checkpoint_ns"))? {
            Some(value) => value.extract()?,
            None => String::new(),
        };
        let checkpoint = match get(intern!(py, "checkpoint_id"))? {
            Some(value) => Some(value.extract()?),
            None => None,
        };
        Ok(self.number((thread, namespace), kind, checkpoint))
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

impl Planes {
    fn number(&self, key: Key, kind: Kind, checkpoint: Option<String>) -> Operation {
        let seq = self.0.arrive(&key, kind.into(), checkpoint);
        Operation {
            planes: self.0.clone(),
            key,
            seq,
            finished: AtomicBool::new(false),
        }
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
    /// May it land now, behind what stands in the queue?
    fn is_ready(&self) -> bool {
        self.planes.is_ready(&self.key, self.seq)
    }

    /// It stands in the queue through which everything of its saver is stored, in order; or has left it, and did not
    /// land. What waits for it may queue behind it.
    fn queue(&self, py: Python<'_>, is_queued: bool) {
        wake(py, self.planes.queue(&self.key, self.seq, is_queued));
    }

    /// Calls `waker`, from any thread, whenever something of the plane has landed or stands in the queue. Ask `is_ready` again after this,
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
