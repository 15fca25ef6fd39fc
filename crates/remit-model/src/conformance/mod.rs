//! `remit-core` held against the model.
//!
//! The model's action alphabet, guards included, drives the core's own public functions: the effect ledger, the
//! commit frontier, branches, the view, recovery and the judgement on strays. What happens outside (which effects
//! fired, what was served, what the store holds) is written down by code that shares nothing with the core, in the
//! model's variables. After every action the six invariants must hold, the step must be one that the model allows,
//! and the branches must be whole.
//!
//! Not here yet: the consume claim (several consumers of one interrupt, CO-c). The core has no such module so far;
//! with it the racer of `R11_ConsumeCount` becomes an action here.
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
