//! Behaviour of the engine on real files, one file per behaviour.
mod account;
mod apis;
mod conformance;
mod content;
mod faults;
mod layout;
mod metadata;
mod metadata_calls;
mod options;
mod refusals;
mod ring;
mod scratch;
mod shares;
mod stopping;
mod strace;
mod timing;
mod trace;
