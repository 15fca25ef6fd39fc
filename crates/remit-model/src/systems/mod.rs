//! The transition systems, each beside its TLA+ twin in `models/`; only [`claim`] has none, as `remit-core` decides
//! its steps.
//!
//! A step that a TLA+ action allows is a function from a state to the next one, `None` where its guard is false.

pub mod action;
pub mod claim;
pub mod consume_count;
pub mod lang_graph_fork;
pub mod parked;
pub mod resume_contract;
pub mod run;
pub mod separations;
pub mod state_rebuild;

pub use action::{Action, Decision};
pub use resume_contract::{Bounds, Faults, ResumeContract};
pub use run::Run;
