//! Integration tests of the modelled host.
#![expect(clippy::print_stdout, reason = "figures that a reader compares with those of a source")]

mod calls;
mod conservation;
mod content;
mod durability;
mod profiles;
mod read_ahead;
mod request_queue;
mod state;
