//! How probable it is that an array loses data: the exact Markov chain, and a simulation of it.
//!
//! # Model
//! Members fail independently at a constant rate; a failed member is restored after an exponential time, each one for itself.
//! Of copies each set is a chain of its own, and the first set that is lost loses the data. Unreadable sectors, failures with a
//! common cause, and controllers are not considered.
//!
//! # Method
//! The mean time follows from the chain's linear equations, the probability within a time from uniformisation (Jensen 1953). The
//! simulation follows single arrays; of rare losses it makes failures more frequent and weighs each history by how much less
//! probable it is (Goyal et al., "A unified framework for simulating Markovian models of highly dependable systems", 1992).

use crate::profile::{ArrayProfile, Level, MemberProfile};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Members that fail and are restored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// How members share the data.
    pub level: Level,
    /// Members.
    pub members: usize,
    /// Failures of a member per hour.
    pub failures_per_h: f64,
    /// Restorations of a failed member per hour.
    pub repairs_per_h: f64,
}

/// An estimate with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Hours of a rebuild where nothing limits it and nothing says how long a replacement takes.
const REPAIR_H_MIN: f64 = 1e-3;

fn estimate(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1.0);
    let half = 1.96 * (variance / n).sqrt();
    Estimate { mean, low: (mean - half).max(0.0), high: mean + half }
}

impl Reliability {
    /// That of the array of a profile, if the profile states how often members fail. A failed member is restored after its
    /// replacement, without a delay if there is a spare, and a rebuild at the stated rate.
    pub fn of<P: MemberProfile>(profile: &ArrayProfile<P>) -> Option<Self> {
        let afr = profile.member_afr?;
        let bytes = profile.members.iter().map(|it| it.profile.basics_of().capacity_bytes).max().unwrap_or(0);
        let rebuild_h = bytes as f64 / 1e6 / profile.controller.rebuild_mb_per_s / 3600.0;
        let replace_h = if profile.spares.is_empty() { profile.replace_hours.unwrap_or(0.0) } else { 0.0 };
        Some(Self {
            level: profile.level,
            members: profile.members.len(),
            failures_per_h: -(-afr).ln_1p() / 8760.0,
            repairs_per_h: 1.0 / (rebuild_h + replace_h).max(REPAIR_H_MIN),
        })
    }

    /// Sets that must all survive, and members of each.
    fn sets(&self) -> (usize, usize) {
        if self.level == Level::Raid10 { (self.members / 2, 2) } else { (1, self.members) }
    }

    /// Failures that a set bears.
    fn bears(&self) -> usize {
        match self.level {
            Level::Raid1 => self.members - 1,
            Level::Raid10 => 1,
            level => level.parities(),
        }
    }

    fn fails(&self, failed: usize) -> f64 {
        (self.sets().1 - failed) as f64 * self.failures_per_h
    }

    fn repairs(&self, failed: usize) -> f64 {
        failed as f64 * self.repairs_per_h
    }

    /// Mean time until a set loses its data, in hours: that of the array, unless it has several sets.
    pub fn mean_h(&self) -> f64 {
        // From k failed members, the time to k + 1: h(k) = (1 + r(k) h(k - 1)) / f(k).
        let (mut total, mut before) = (0.0, 0.0);
        for failed in 0..=self.bears() {
            before = (1.0 + self.repairs(failed) * before) / self.fails(failed);
            total += before;
        }
        total
    }

    /// Probability that data is lost within a number of hours.
    pub fn loss_within(&self, hours: f64) -> f64 {
        let states = self.bears() + 2;
        let rate = (0..states - 1).map(|at| self.fails(at) + self.repairs(at)).fold(0.0, f64::max);
        let mut now = vec![0.0; states];
        now[0] = 1.0;
        // Short steps, so that the Poisson weights do not underflow.
        let steps = (rate * hours / 50.0).ceil().max(1.0);
        let mean = rate * hours / steps;
        for _ in 0..steps as u64 {
            now = self.after(&now, rate, mean);
        }
        let (sets, _) = self.sets();
        -((sets as f64) * (-now[states - 1]).ln_1p()).exp_m1()
    }

    /// The states after a time in which `mean` jumps happen on average.
    fn after(&self, now: &[f64], rate: f64, mean: f64) -> Vec<f64> {
        let mut term: Vec<f64> = now.to_vec();
        let (mut sum, mut weight) = (vec![0.0; now.len()], (-mean).exp());
        for jump in 1..400_u32 {
            sum.iter_mut().zip(&term).for_each(|(sum, term)| *sum += weight * term);
            let mut next = vec![0.0; now.len()];
            for (at, share) in term.iter().enumerate() {
                let (fails, repairs) =
                    if at + 1 < now.len() { (self.fails(at) / rate, self.repairs(at) / rate) } else { (0.0, 0.0) };
                next[at] += share * (1.0 - fails - repairs);
                if at + 1 < now.len() {
                    next[at + 1] += share * fails;
                }
                if at > 0 {
                    next[at - 1] += share * repairs;
                }
            }
            term = next;
            weight *= mean / f64::from(jump);
        }
        sum
    }

    /// Mean time until a set loses its data, in hours, over a number of simulated losses.
    pub fn simulated_mean_h(&self, losses: u32, seed: u64) -> Estimate {
        let mut chance = Chance::new(seed);
        let one = |_| {
            let (mut failed, mut hours) = (0, 0.0);
            while failed <= self.bears() {
                let (fails, repairs) = (self.fails(failed), self.repairs(failed));
                hours += chance.exponential(fails + repairs);
                if chance.share() * (fails + repairs) < fails { failed += 1 } else { failed -= 1 }
            }
            hours
        };
        estimate(&(0..losses).map(one).collect::<Vec<f64>>())
    }

    /// Probability that data is lost within a number of hours, over a number of simulated arrays.
    pub fn simulated_loss_within(&self, hours: f64, arrays: u32, seed: u64) -> Estimate {
        let mut chance = Chance::new(seed);
        let found: Vec<f64> = (0..arrays).map(|_| self.one_history(hours, &mut chance)).collect();
        let set = estimate(&found);
        let all = |p: f64| -((self.sets().0 as f64) * (-p.min(1.0)).ln_1p()).exp_m1();
        Estimate { mean: all(set.mean), low: all(set.low), high: all(set.high) }
    }

    /// The weight of a history that loses the data of a set, else 0. The first failure of each healthy period happens within
    /// the time that is left. A failure during a repair is so probable that about one history loses its data, at most as
    /// probable as the end of the repair, and never less probable than it is: where losses are probable nothing is weighed.
    fn one_history(&self, hours: f64, chance: &mut Chance) -> f64 {
        let (mut failed, mut left, mut weight) = (0, hours, 1.0);
        let periods = (self.fails(0) * hours).max(1.0);
        let least = periods.powf(-1.0 / self.bears().max(1) as f64).min(0.5);
        loop {
            let (fails, repairs) = (self.fails(failed), self.repairs(failed));
            if failed == 0 {
                let within = -(-fails * left).exp_m1();
                weight *= within;
                left -= -(-within * chance.share()).ln_1p() / fails;
                failed = 1;
            } else {
                left -= chance.exponential(fails + repairs);
                if left <= 0.0 {
                    return 0.0;
                }
                let true_share = fails / (fails + repairs);
                let share = true_share.max(least);
                if chance.share() < share {
                    weight *= true_share / share;
                    failed += 1;
                } else {
                    weight *= (1.0 - true_share) / (1.0 - share);
                    failed -= 1;
                }
            }
            if failed > self.bears() {
                return weight;
            }
        }
    }
}

/// Random numbers of a seed.
struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// From 0 to below 1.
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -(-self.share()).ln_1p() / rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_times_have_their_textbook_limits() {
        let (f, r) = (1e-5, 0.1);
        let chain = |level, members| Reliability { level, members, failures_per_h: f, repairs_per_h: r };
        // Two mirrors exactly: (3 f + r) / 2 f^2.
        let exact = (3.0 * f + r) / (2.0 * f * f);
        assert!((chain(Level::Raid1, 2).mean_h() / exact - 1.0).abs() < 1e-12);
        // Patterson, Gibson and Katz: MTTF^2 / (n (n - 1) MTTR), and the same with a second parity, whose repairs are twice as fast.
        let five = chain(Level::Raid5, 8).mean_h() * 56.0 * f * f / r;
        let six = chain(Level::Raid6, 8).mean_h() * 336.0 * f * f * f / (2.0 * r * r);
        assert!((five - 1.0).abs() < 2e-3 && (six - 1.0).abs() < 2e-3, "{five} {six}");
        let none = chain(Level::Raid0, 8);
        assert!((none.loss_within(1e4) + (-8.0 * f * 1e4_f64).exp_m1()).abs() < 1e-12);
    }

    #[test]
    fn rare_losses_are_estimated_without_bias() {
        for (level, members) in [(Level::Raid1, 2), (Level::Raid5, 8), (Level::Raid6, 8), (Level::Raid10, 8)] {
            let chain = Reliability { level, members, failures_per_h: 4e-6, repairs_per_h: 1.0 / 24.0 };
            let (exact, found) = (chain.loss_within(43_800.0), chain.simulated_loss_within(43_800.0, 40_000, 3));
            let wide = 2.0 * (found.high - found.low) / 2.0;
            assert!((found.mean - exact).abs() < wide, "{level:?}: {exact} {found:?}");
            assert!(found.high - found.low < 0.2 * exact, "{level:?}: {exact} {found:?}");
        }
    }

    #[test]
    fn losses_of_every_probability_have_a_narrow_interval() {
        for (level, members) in [(Level::Raid1, 2), (Level::Raid5, 8), (Level::Raid5, 24), (Level::Raid6, 24)] {
            for afr in [0.01_f64, 0.2, 0.5] {
                for repair_h in [24.0, 200.0, 1000.0] {
                    let failures_per_h = -(-afr).ln_1p() / 8760.0;
                    let chain = Reliability { level, members, failures_per_h, repairs_per_h: 1.0 / repair_h };
                    let (exact, found) =
                        (chain.loss_within(43_800.0), chain.simulated_loss_within(43_800.0, 20_000, 5));
                    let wide = found.high - found.low;
                    let which = format!("{level:?} of {members}, {afr} a year, {repair_h} h: {exact} {found:?}");
                    // Four standard errors, as 36 cases allow; if every array is lost there is none.
                    assert!((found.mean - exact).abs() < wide + 1e-3 * exact, "{which}");
                    assert!(wide < 0.25 * exact, "{which}");
                }
            }
        }
    }
}
