#![feature(proc_macro_hygiene)]
#![forbid(unsafe_code)]
extern crate alloc;
#[path = "contract.rs"]
pub mod contract;
#[path = "parked.rs"]
pub mod parked;
