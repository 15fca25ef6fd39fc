#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/branch.rs"]
pub mod branch;
#[path = "branch_spec.rs"]
pub mod branch_spec;
