//! Behaviour of the execution contract and of the contents, one file per behaviour.
mod content;
mod driver;
mod findings;
mod iozone_bytes;
mod judging;
mod loads;
mod metadata;
mod patterns;
mod refusals;
