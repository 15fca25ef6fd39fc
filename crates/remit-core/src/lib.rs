//! The decisions of REMIT.
//!
//! Every function here is pure and total: facts go in as integers, small enums and slices, a verdict comes
//! out; refusal is a value. No I/O, no clock, no randomness: `no_std` makes the first two a compile error.
//!
//! | module | decides | contract |
//! |---|---|---|
//! | [`view`] | what a load may show of the recorded answers | FD, CO |
//! | [`outputs`] | what a load may show of the recorded outputs | PC, FD |
//! | [`answers`] | how an answer is stored beside its question | FD, live |
//! | [`branch`] | the ordinal of a fork | FD, FI |
//! | [`claim`] | which run may take an authority | CO, live |
//! | [`commit`] | whether a checkpoint may extend the durable prefix | PC, CV |
//! | [`effect`] | who may fire an effect, and which are in doubt | EO, live |
//! | [`ending`] | what a run's end says of its claim | CO, live |
//! | [`explain`] | what a retry will do, told before | RD |
//! | [`ledger`] | whether something happens for the first time | EO |
//! | [`recovery`] | which tasks run again | RD |
//! | [`sequencer`] | which operation of a plane may land now | RD |
//! | [`stray`] | whether a resume is one | CO, live |
//! | [`ids`] | the grammar of the row ids that REMIT stores | |
//! | [`refusal`] | the one table of errors | |
//!
//! Twelve modules carry their specification as attributes that only the verifier sees; six of them come from verified
//! drafts (branch, claim, commit, ledger, recovery, view). Which proofs were discharged: `VERIFICATION.md`.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod answers;
pub mod branch;
pub mod claim;
pub mod commit;
pub mod effect;
pub mod ending;
pub mod explain;
pub mod ids;
pub mod ledger;
pub mod outputs;
pub mod recovery;
pub mod refusal;
pub mod sequencer;
pub mod stray;
pub mod view;
