//! Behaviour of the execution contract, one file per behaviour.
mod patterns;
mod refusals;
