#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "../crates/remit-core/src/claim.rs"]
pub mod claim;
#[path = "claim_spec.rs"]
pub mod claim_spec;
#[path = "claim_system.rs"]
pub mod claim_system;
#[path = "../crates/remit-core/src/effect.rs"]
pub mod effect;
#[path = "effect_spec.rs"]
pub mod effect_spec;
#[path = "effect_system.rs"]
pub mod effect_system;
