#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/recovery.rs"]
pub mod recovery;
#[path = "recovery_spec.rs"]
pub mod recovery_spec;
