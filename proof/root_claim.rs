#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/claim.rs"]
pub mod claim;
#[path = "claim_spec.rs"]
pub mod claim_spec;
#[path = "claim_system.rs"]
pub mod claim_system;
#[path = "claim_keys.rs"]
pub mod claim_keys;
#[path = "claim_reread.rs"]
pub mod claim_reread;
