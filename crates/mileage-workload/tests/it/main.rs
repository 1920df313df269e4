//! Behaviour of the execution contract, one file per behaviour.
mod driver;
mod judging;
mod loads;
mod metadata;
mod patterns;
mod refusals;
