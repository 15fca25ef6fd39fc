//! The contract of REMIT as transition systems, and a checker for them.
//!
//! | module | holds |
//! |---|---|
//! | [`systems`] | the transition systems, each beside its TLA+ twin in `models/`; and the consume claim, which the core decides |
//! | [`checker`] | breadth-first search: invariants, reachability, liveness, TLC's counts |
//! | [`runs`] | the pinned runs of `models/results.csv` |
//! | [`tables`] | counts as text, Markdown and JSON |
//! | [`config`] | TLC's configuration files |
//! | [`conformance`] | `remit-core` driven by the model |
//! | [`traces`] | what the models predict of runs elsewhere |
//! | [`bits`], [`seq`] | compact states |

#![forbid(unsafe_code)]

pub mod bits;
pub mod checker;
pub mod config;
pub mod conformance;
pub mod runs;
pub mod seq;
pub mod systems;
pub mod tables;
pub mod traces;
