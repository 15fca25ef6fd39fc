#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/outputs.rs"]
pub mod outputs;
#[path = "outputs_spec.rs"]
pub mod outputs_spec;
#[path = "../crates/remit-core/src/view.rs"]
pub mod view;
#[path = "view_spec.rs"]
pub mod view_spec;
