//! The loops of other load generators, call for call: transfers as IOR makes them and operations on names as mdtest
//! makes them, in the process that asks, on files under the tool's own names.
//!
//! Nothing is scheduled and nothing is recorded but counts and times: a drop-in command that keeps no study needs no
//! more, and starts without the rest of the engine.

#[expect(clippy::disallowed_methods, reason = "opens directories below one that is open")]
mod directories;
mod glibc_random;
mod ior_content;
#[expect(clippy::disallowed_methods, reason = "names in directories that are open")]
mod names;
mod transfers;

pub use glibc_random::library_random;
pub use names::{NameWork, NamesDone};
pub use transfers::{TaskFile, TransferWork, TransfersDone, shuffled_offsets};
