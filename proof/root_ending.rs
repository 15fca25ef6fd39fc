#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
#[path = "../crates/remit-core/src/claim.rs"]
pub mod claim;
#[path = "claim_spec.rs"]
pub mod claim_spec;
#[path = "../crates/remit-core/src/ending.rs"]
pub mod ending;
#[path = "ending_spec.rs"]
pub mod ending_spec;
