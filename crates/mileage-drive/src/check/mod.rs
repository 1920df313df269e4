//! Theory against simulation: what a drive must do if the model is right.
//!
//! [`cases`] lists what can be checked; each [`Case`] simulates a drive made for it and answers with a [`Row`]. The
//! expected values are the published ones of `write_amplification.csv`, or elementary arithmetic that the case
//! states; no expectation comes from the simulation.

mod amplification;
mod array;
mod buffer;
mod chips;
mod disk;
mod drive_builder;
mod errors;
mod faults;
mod limits;
mod packing;
mod parts;
mod placement;
mod slc;
mod smr_disk;
mod stations;
pub mod theory;
mod wear;
mod xpoint;

pub use wear::life_of_the_scaled_drive;

/// One comparison of simulation and theory.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the compared quantity.
    pub name: String,
    /// Value predicted by theory.
    pub theory: f64,
    /// Value of the simulated drive.
    pub simulated: f64,
    /// Largest difference that is no miss, as a share of the theory's value.
    pub tolerance: f64,
    /// Upper bound: a simulated value above it fails, whatever the tolerance; `None`: no bound.
    pub bound: Option<f64>,
}

impl Row {
    /// simulated / theory - 1; 0 when both are 0.
    pub fn difference(&self) -> f64 {
        // Exact equality on purpose, because these are counts.
        if (self.simulated - self.theory).abs() <= 0.0 { 0.0 } else { self.simulated / self.theory - 1.0 }
    }

    /// Whether simulation and theory agree.
    pub fn holds(&self) -> bool {
        self.difference().abs() <= self.tolerance && self.bound.is_none_or(|bound| self.simulated <= bound)
    }

    fn exact(name: impl Into<String>, theory: f64, simulated: f64) -> Self {
        Self { name: name.into(), theory, simulated, tolerance: 0.0, bound: None }
    }

    fn within(tolerance: f64, name: impl Into<String>, theory: f64, simulated: f64) -> Self {
        Self { name: name.into(), theory, simulated, tolerance, bound: None }
    }
}

/// One check: its name, and the function that simulates and computes the theory.
pub struct Case {
    /// Whether the short check includes it.
    pub quick: bool,
    work: Box<dyn Fn() -> Vec<Row> + Send + Sync>,
}

impl Case {
    fn new(quick: bool, work: impl Fn() -> Vec<Row> + Send + Sync + 'static) -> Self {
        Self { quick, work: Box::new(work) }
    }

    /// Simulate and compare.
    pub fn rows(&self) -> Vec<Row> {
        (self.work)()
    }
}

/// Everything that can be checked in a minute or two, in the order in which it is shown.
pub fn cases() -> Vec<Case> {
    let mut cases = amplification::cases();
    cases.extend(limits::cases());
    cases.extend(stations::cases());
    cases.extend(packing::cases());
    cases.extend(parts::cases());
    cases.extend(placement::cases());
    cases.extend(errors::cases());
    cases.extend(buffer::cases());
    cases.extend(faults::cases());
    cases.extend(chips::cases());
    cases.extend(wear::cases());
    cases.extend(slc::cases());
    cases.extend(disk::cases());
    cases.extend(smr_disk::cases());
    cases.extend(xpoint::cases());
    cases.extend(array::cases());
    cases
}

#[cfg(test)]
mod tests;
