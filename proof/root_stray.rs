#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/stray.rs"]
pub mod stray;
#[path = "stray_spec.rs"]
pub mod stray_spec;
