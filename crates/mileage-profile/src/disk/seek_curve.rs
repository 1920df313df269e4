//! Seek time over distance: `a + b sqrt(d)` up to a knee, `c + e d` beyond it (Ruemmler and Wilkes, 1994: an arm
//! accelerates and brakes on short ways, and moves at a constant speed on long ones).
//!
//! The four numbers follow from three seeks of a data sheet and from the curve being continuous at the knee: one
//! cylinder, a third of the stroke (what makers quote as the average), the whole stroke.

/// The seek time in ns over d cylinders: `a + b sqrt(d)` up to the knee, `c + e d` beyond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekCurve {
    /// a, in ns.
    pub a_ns: f64,
    /// b, in ns.
    pub b_ns: f64,
    /// c, in ns.
    pub c_ns: f64,
    /// e, in ns.
    pub e_ns: f64,
    /// The last distance of the first part, in cylinders.
    pub knee: u32,
}

impl SeekCurve {
    /// The curve through three seeks, in ns; `None` if it would fall anywhere.
    ///
    /// With the average beyond the knee, e follows from the average and the full stroke, c from e, and b from the knee,
    /// where both parts are equal, and from one cylinder; otherwise b follows from one cylinder and the average, and e
    /// from the knee.
    pub(super) fn through(seeks_ns: [f64; 3], cylinders: u32, knee: u32) -> Option<Self> {
        let [track, average, full] = seeks_ns;
        let (third, stroke, at) = (f64::from(cylinders - 1) / 3.0, f64::from(cylinders - 1), f64::from(knee));
        let (a_ns, b_ns, c_ns, e_ns);
        if third >= at {
            e_ns = (full - average) / (stroke - third);
            c_ns = full - e_ns * stroke;
            b_ns = (c_ns + e_ns * at - track) / (at.sqrt() - 1.0);
            a_ns = track - b_ns;
        } else {
            b_ns = (average - track) / (third.sqrt() - 1.0);
            a_ns = track - b_ns;
            e_ns = (full - a_ns - b_ns * at.sqrt()) / (stroke - at);
            c_ns = full - e_ns * stroke;
        }
        let rises = b_ns >= 0.0 && e_ns >= 0.0;
        let finite = [a_ns, b_ns, c_ns, e_ns].iter().all(|value| value.is_finite());
        (rises && finite).then_some(Self { a_ns, b_ns, c_ns, e_ns, knee })
    }

    /// Over `distance` cylinders, to the nearest nanosecond; 0 over none.
    #[inline]
    pub fn ns(&self, distance: u32) -> u64 {
        let d = f64::from(distance);
        if distance == 0 {
            0
        } else if distance <= self.knee {
            (self.a_ns + self.b_ns * d.sqrt() + 0.5) as u64
        } else {
            (self.c_ns + self.e_ns * d + 0.5) as u64
        }
    }

    /// The longest distance that takes `ns` at most, or a few cylinders more: what is farther takes longer.
    #[inline]
    pub fn farthest(&self, ns: u64) -> u32 {
        // What is rounded to `ns` takes less than a nanosecond more; the cylinder is for the rounding of this inverse.
        let ns = ns as f64 + 1.0;
        let beyond = self.c_ns + self.e_ns * f64::from(self.knee);
        let distance = if ns > beyond { (ns - self.c_ns) / self.e_ns } else { ((ns - self.a_ns) / self.b_ns).powi(2) };
        (distance + 1.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The HP 97560 of Ruemmler and Wilkes (1994): 3.24 + 0.4 sqrt(d) ms below 383 cylinders, 8.00 + 0.008 d beyond, of
    /// 1962 cylinders. Its two parts differ by 4 us at the knee, so that the curve may differ by as much.
    #[test]
    fn three_seeks_of_a_published_curve_give_the_curve() {
        let published = |d: f64| 1e6 * if d < 383.0 { 3.24 + 0.4 * d.sqrt() } else { 8.00 + 0.008 * d };
        let seeks = [published(1.0), published(1961.0 / 3.0), published(1961.0)];
        let curve = SeekCurve::through(seeks, 1962, 383).unwrap();
        for d in [1, 2, 10, 100, 300, 382, 383, 400, 654, 1000, 1961] {
            let found = curve.ns(d) as f64;
            assert!((found - published(f64::from(d))).abs() < 5e3, "{d}: {found}");
        }
        assert_eq!(curve.ns(0), 0);
    }

    #[test]
    fn a_curve_with_the_knee_behind_a_third_of_the_stroke_passes_through_its_seeks() {
        let curve = SeekCurve::through([0.8e6, 8.5e6, 16.5e6], 99_001, 60_000).unwrap();
        assert_eq!([curve.ns(1), curve.ns(33_000), curve.ns(99_000)], [800_000, 8_500_000, 16_500_000]);
        assert!(curve.ns(60_001) >= curve.ns(60_000) && curve.ns(60_001) < curve.ns(60_000) + 200);
    }

    #[test]
    fn what_is_farther_than_the_longest_distance_in_a_time_takes_longer() {
        let curves = [([0.8e6, 8.5e6, 17e6], 357_176, 89_294), ([0.8e6, 8.5e6, 16.5e6], 99_001, 60_000)];
        let flat = ([5e6, 5e6, 5e6], 1000, 100);
        for (seeks, cylinders, knee) in [curves[0], curves[1], flat] {
            let curve = SeekCurve::through(seeks, cylinders, knee).unwrap();
            for d in [1, 2, 3, 50, 99, 100, 101, 999, 59_999, 60_000, 60_001, 89_293, 89_294, 89_295, 98_000] {
                for ns in curve.ns(d) - 2..=curve.ns(d) + 2 {
                    let farther = curve.farthest(ns).saturating_add(1);
                    assert!(farther == u32::MAX || curve.ns(farther) > ns, "{farther} cylinders in {ns} ns");
                    let nearer = farther.saturating_sub(4);
                    assert!(seeks[0] >= seeks[2] || curve.ns(nearer) <= ns, "{nearer} cylinders in {ns} ns");
                }
            }
        }
        assert!(SeekCurve::through(curves[0].0, 357_176, 89_294).unwrap().farthest(u64::MAX) >= 357_176);
    }

    #[test]
    fn a_curve_that_falls_is_none() {
        assert_eq!(SeekCurve::through([1e6, 9e6, 8e6], 1000, 100), None);
        assert_eq!(SeekCurve::through([9e6, 8e6, 18e6], 1000, 400), None);
    }
}
