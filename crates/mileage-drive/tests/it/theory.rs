//! What theory says of write amplification: greedy collection under uniform random writes.

use mileage_drive::Profile;

fn harmonic(n: u32) -> f64 {
    (1..=n).map(|i| 1.0 / f64::from(i)).sum()
}

/// Write amplification of greedy collection with blocks of `pages` pages of which the share `rho` is valid: the
/// mean-field fixed point. Victims hold `j` or `j - 1` valid pages, with the one j for which
/// `c (H_b - H_j) < 1 <= c (H_b - H_(j-1))`, `c = (rho b - j) / ((b - j) - j (H_b - H_j))`; the result is `c / rho`.
pub fn greedy(rho: f64, pages: u32) -> f64 {
    let whole = harmonic(pages);
    for j in 1..pages {
        let above = whole - harmonic(j);
        let b = f64::from(pages);
        let c = (rho * b - f64::from(j)) / ((b - f64::from(j)) - f64::from(j) * above);
        if c * above < 1.0 && 1.0 <= c * (above + 1.0 / f64::from(j)) {
            return c / rho;
        }
    }
    1.0
}

/// The same for a drive: its spare block and the unwritten part of its open block in each plane hold no data. A
/// collection gains b / A pages, so the open block, which begins with the survivors, lacks half of that on average.
pub fn of_drive(profile: &Profile) -> f64 {
    let logical = (profile.capacity_bytes / u64::from(profile.page_bytes)) as f64;
    let (planes, pages) = (profile.planes() as f64, f64::from(profile.pages_per_block));
    let blocks = planes * f64::from(profile.blocks_per_plane);
    let mut amplification = 2.0;
    for _ in 0..50 {
        let effective = pages * (blocks - planes - planes / (2.0 * amplification));
        amplification = greedy(logical / effective, profile.pages_per_block);
    }
    amplification
}
