//! Concatenated lists of counter names: a wrapper adds its own counters to those of the device inside.

use std::sync::{Mutex, PoisonError};

/// Lists of names one behind the other; equal ones are made once and live as long as the program.
pub fn joined(lists: &[&[&'static str]]) -> &'static [&'static str] {
    static MADE: Mutex<Vec<&'static [&'static str]>> = Mutex::new(Vec::new());
    let names = lists.concat();
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = made.iter().find(|known| **known == names) {
        return known;
    }
    let names: &'static [&'static str] = names.leak();
    made.push(names);
    names
}
