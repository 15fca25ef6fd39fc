//! `remit-core` held against the model.
//!
//! The model's action alphabet, guards included, drives the core's own public functions: the effect ledger, the
//! commit frontier, branches, the view, recovery, the claim and the judgement on strays. What happens outside (which
//! effects fired, what was served, what the store holds) is written down by code that shares nothing with the core, in
//! the model's variables. After every action the six invariants must hold, the step must be one that the model
//! allows, and the branches must be whole.
//!
//! The racer of `R11_ConsumeCount` is part of every answer here: before the answer that counts a process dies and a task
//! fails, and a second consumer asks for the claim at each stage. Authority must be taken once (CO-c), and everybody
//! must be told what it should. All orders of several workers are searched elsewhere, in [`crate::systems::claim`].
//!
//! | module | holds |
//! |---|---|
//! | [`core`] | what is asked of the core, and the shipped answers |
//! | [`broken`] | cores with one planted fault each: what a check must catch |
//! | [`world`] | host and store around a core |
//! | [`shadow`] | what is seen from outside, without the core |
//! | [`search`] | all sequences at small bounds, random ones at larger bounds, shrinking |

pub mod broken;
pub mod core;
pub mod search;
pub mod shadow;
pub mod world;
