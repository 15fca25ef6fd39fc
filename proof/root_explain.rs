#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/explain.rs"]
pub mod explain;
#[path = "explain_spec.rs"]
pub mod explain_spec;
