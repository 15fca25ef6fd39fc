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
#[path = "contract.rs"]
pub mod contract;
#[path = "witness.rs"]
pub mod witness;
