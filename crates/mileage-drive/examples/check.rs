//! `cargo run --release -p mileage-drive --example check [quick|life]`: theory against simulation as a table.

use mileage_drive::check::{Row, cases, life_of_the_scaled_drive};

#[expect(clippy::print_stdout, reason = "what the program is for")]
fn show(rows: &[Row]) -> bool {
    for row in rows {
        let mark = if row.holds() { "ok  " } else { "MISS" };
        println!(
            "{mark} {:<66} {:>13.4} {:>13.4} {:>+8.3} %",
            row.name,
            row.theory,
            row.simulated,
            100.0 * row.difference()
        );
    }
    rows.iter().all(Row::holds)
}

fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    let held = if which == "life" {
        show(&life_of_the_scaled_drive())
    } else {
        let chosen = cases().into_iter().filter(|case| which != "quick" || case.quick);
        chosen.map(|case| show(&case.rows())).filter(|held| !held).count() == 0
    };
    std::process::exit(i32::from(!held));
}
