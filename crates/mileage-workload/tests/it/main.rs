//! Behaviour of the execution contract and of the contents, one file per behaviour.
mod conformance_rules;
mod content;
mod driver;
mod file_jobs;
mod findings;
mod fio_bytes;
mod iozone_bytes;
mod loads;
mod metadata;
mod orders;
mod patterns;
mod refusals;
mod shuffles;
mod sizes;
mod skews;
