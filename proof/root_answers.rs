#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/answers.rs"]
pub mod answers;
#[path = "answers_spec.rs"]
pub mod answers_spec;
#[path = "../crates/remit-core/src/view.rs"]
pub mod view;
#[path = "view_spec.rs"]
pub mod view_spec;
