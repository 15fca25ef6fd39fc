//! The extension module `remit._core`: values in, verdicts out. One file per core module.
mod answers;
mod branch;
mod claim;
mod commit;
mod effect;
mod errors;
mod explain;
mod ids;
mod ledger;
mod outputs;
mod planes;
mod recovery;
mod sequencer;
mod stray;
mod view;

/// The lock of [`planes`], which its test replaces by one that a scheduler controls.
mod sync {
    pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
}

/// The decisions of REMIT.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::answers::{binds_to, open_question, store, Batch};
    #[pymodule_export]
    use crate::branch::fork;
    #[pymodule_export]
    use crate::claim::{
        decide, fate_of, is_over, is_present, word, ClaimInput, ClaimVerdict, Fate,
    };
    #[pymodule_export]
    use crate::commit::Prefix;
    #[pymodule_export]
    use crate::effect::{
        admit_effect, is_in_doubt, resolve_effect, settle_effect, Doubt, EffectOwner, EffectVerdict,
    };
    #[pymodule_export]
    use crate::errors::{errors, refuse};
    #[pymodule_export]
    use crate::explain::on_retry;
    #[pymodule_export]
    use crate::ids::{branch_name, branch_ordinal, parse_row, row_id};
    #[pymodule_export]
    use crate::ledger::Ledger;
    #[pymodule_export]
    use crate::outputs::shows_output;
    #[pymodule_export]
    use crate::recovery::unfinished;
    #[pymodule_export]
    use crate::sequencer::{Kind, Operation, Planes};
    #[pymodule_export]
    use crate::stray::{judge, Policy, Thread, Verdict};
    #[pymodule_export]
    use crate::view::{view, Class, Intent, Show};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::errors::register(m)
    }
}
