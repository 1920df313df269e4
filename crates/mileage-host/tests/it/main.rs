//! Integration tests of the modelled host.

mod calls;
mod conservation;
mod durability;
mod profiles;
mod read_ahead;
mod state;
