//! The loops of other load generators, call for call: transfers as IOR makes them and operations on names as mdtest
//! makes them, in the process that asks, on files under the tool's own names.
//!
//! Nothing is scheduled and nothing is recorded but counts and times: a drop-in command that keeps no study needs no
//! more, and starts without the rest of the engine.

mod directories;
mod glibc_random;
mod ior_content;
mod names;
mod transfers;

pub use glibc_random::library_random;
pub use names::{NameWork, NamesDone};
pub use transfers::{TaskFile, TransferWork, TransfersDone, shuffled_offsets};
