#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/ledger.rs"]
pub mod ledger;
#[path = "ledger_spec.rs"]
pub mod ledger_spec;
