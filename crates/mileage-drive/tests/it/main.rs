//! The drives against their contracts, against arithmetic by hand and against theory.

mod amplification;
mod array_splitter;
mod arrays;
mod bounds;
mod buffer;
mod contract;
mod disk;
mod disk_reference;
mod drives;
mod endurance;
mod errors;
mod faults;
mod first_come;
#[path = "../../examples/theory/formulas.rs"]
#[expect(dead_code, reason = "the example `theory` uses all of them")]
mod formulas;
mod front_end;
mod general;
mod packing;
mod policies;
mod power;
mod profile;
mod random_drives;
mod read_priority;
mod slc;
mod smr_disk;
mod smr_reference;
mod state;
mod suspend;
mod techniques;
mod timing;
mod x25e;
mod xpoint;
