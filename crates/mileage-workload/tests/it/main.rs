//! Behaviour of the execution contract, one file per behaviour.
mod metadata;
mod patterns;
mod refusals;
