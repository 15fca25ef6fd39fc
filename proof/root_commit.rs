#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/commit.rs"]
pub mod commit;
#[path = "commit_spec.rs"]
pub mod commit_spec;
