//! Behaviour of the engine on real files, one file per behaviour.
#![allow(clippy::disallowed_methods, reason = "it makes the files that it works on")]

mod account;
mod apis;
mod conformance;
mod content;
mod faults;
mod faults_never;
mod faults_server;
mod faults_stall;
mod faults_wrong;
mod freezing;
mod interim;
mod layout;
mod log;
mod metadata;
mod metadata_calls;
mod options;
mod refusals;
mod replaced_target;
mod ring;
mod run_context;
mod run_record;
mod scratch;
mod shares;
mod sparse;
mod split_latency;
mod stop_rules;
mod strace;
mod timing;
mod trace;
mod verify;
mod verify_corruptions;
mod verify_grid;
mod zram;
