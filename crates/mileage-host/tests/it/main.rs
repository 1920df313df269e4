//! Integration tests of the modelled host.

mod calls;
mod profiles;
