//! `cargo run --release -p mileage-drive --example theory [quick|life]`: theory against simulation, as a table. A miss ends with
//! status 1.
//!
//! [`cases`] lists what can be checked; each [`Case`] simulates a drive made for it and returns [`Row`]s. The
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
#[expect(dead_code, reason = "tests and benches use the rest")]
mod formulas;
mod limits;
mod packing;
mod parts;
mod placement;
mod slc;
mod smr_disk;
#[path = "../../src/splitmix.rs"]
mod splitmix;
mod stations;
mod wear;
mod xpoint;

use wear::life_of_the_scaled_drive;

/// One comparison of simulation and theory.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// Name of the compared quantity.
    name: String,
    /// Value predicted by theory.
    theory: f64,
    /// Value of the simulated drive.
    simulated: f64,
    /// Largest difference that is no miss, as a share of the theory's value.
    tolerance: f64,
    /// Upper bound: a simulated value above it fails, whatever the tolerance; `None`: no bound.
    bound: Option<f64>,
}

impl Row {
    /// simulated / theory - 1; 0 when both are 0.
    fn difference(&self) -> f64 {
        // Exact equality on purpose, because these are counts.
        if (self.simulated - self.theory).abs() <= 0.0 { 0.0 } else { self.simulated / self.theory - 1.0 }
    }

    /// Whether simulation and theory agree.
    fn holds(&self) -> bool {
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
struct Case {
    /// Whether the short check includes it.
    quick: bool,
    work: Box<dyn Fn() -> Vec<Row> + Send + Sync>,
}

impl Case {
    fn new(quick: bool, work: impl Fn() -> Vec<Row> + Send + Sync + 'static) -> Self {
        Self { quick, work: Box::new(work) }
    }

    /// Simulate and compare.
    fn rows(&self) -> Vec<Row> {
        (self.work)()
    }
}

/// Everything that can be checked in a minute or two, in the order in which it is shown.
fn cases() -> Vec<Case> {
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

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn print_rows(rows: &[Row]) -> bool {
    for row in rows {
        let mark = if row.holds() { "" } else { "  MISS" };
        let difference = 100.0 * row.difference();
        println!("{:<68}{:>16.3}{:>16.3}{difference:>+9.3}%{mark}", row.name, row.theory, row.simulated);
    }
    rows.iter().all(Row::holds)
}

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    println!("{:<68}{:>16}{:>16}{:>10}", "", "theory", "simulated", "off");
    let held = if which == "life" {
        print_rows(&life_of_the_scaled_drive())
    } else {
        let chosen = cases().into_iter().filter(|case| which != "quick" || case.quick);
        chosen.map(|case| print_rows(&case.rows())).filter(|held| !held).count() == 0
    };
    std::process::exit(i32::from(!held));
}

#[cfg(test)]
mod tests;
