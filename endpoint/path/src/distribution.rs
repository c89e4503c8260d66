//! netem's delay distributions as tables, computed from the distributions themselves. Pure.
//!
//! netem draws an index uniformly and scales the table's entry there by the jitter, so a table is the quantile
//! function, in units of the jitter. netem(8) has three distributions: normal; Pareto with shape 3; and one whose
//! quantile is a quarter of the normal's plus three quarters of Pareto's. Here each table has mean 0 and standard
//! deviation 1, so a job's delay and jitter are the mean and the standard deviation of the packets' delays. iproute2's
//! own tables scale Pareto by 4/3 instead of by its deviation and cut its tail without correcting for that.

use netwarp_wire::MOST_REPAIRS;
use netwarp_wire::job::Distribution;

/// The value of an entry for a deviation of one jitter (`NETEM_DIST_SCALE`).
const SCALE: f64 = 8192.0;

/// The number of entries of a distribution's table for netem: the same as in iproute2's tables. The kernel accepts at
/// most 16384.
const ENTRIES: usize = 4096;

/// The number of entries of the delay table for link-layer retransmissions (repairs): the most that the kernel takes
/// (`NETEM_DIST_MAX`), because probabilities are rounded to multiples of its reciprocal.
const REPAIR_ENTRIES: usize = 16_384;

const PARETO_SHAPE: f64 = 3.0;

/// Returns the delay table of a link that retransmits lost packets itself, in units of one retransmission: each
/// transmission is lost with probability `loss_ratio`, until the packet arrives or was repeated [`MOST_REPAIRS`] times.
pub(crate) fn repairs(loss_ratio: f64) -> Vec<i16> {
    let entries = REPAIR_ENTRIES as f64;
    let repeated = |index: usize| {
        let beyond = 1.0 - (index as f64 + 0.5) / entries;
        (1..=MOST_REPAIRS).take_while(|repairs| beyond < loss_ratio.powi(*repairs as i32)).count()
    };
    (0..REPAIR_ENTRIES).map(|index| (repeated(index) as f64 * SCALE) as i16).collect()
}

/// Returns the table of a distribution; `None` for the uniform one, which is built into netem.
pub(crate) fn table(distribution: Distribution) -> Option<Vec<i16>> {
    let quantile: fn(f64) -> f64 = match distribution {
        Distribution::Uniform => return None,
        Distribution::Normal => normal_quantile,
        Distribution::Pareto => pareto_quantile,
        Distribution::Paretonormal => |share| 0.25 * normal_quantile(share) + 0.75 * pareto_quantile(share),
    };
    let quantiles: Vec<f64> = (0..ENTRIES).map(|index| quantile((index as f64 + 0.5) / ENTRIES as f64)).collect();
    let standard = standardise(&quantiles);
    Some(standard.iter().map(|value| (value * SCALE).round() as i16).collect())
}

/// Shifts and scales `values` until, clamped to what an entry can hold (just under 4), their mean is 0 and their
/// standard deviation 1. Clamping changes both moments, so one step is not enough for a heavy tail.
fn standardise(values: &[f64]) -> Vec<f64> {
    let bounds = (f64::from(i16::MIN) / SCALE, f64::from(i16::MAX) / SCALE);
    let (mut offset, mut factor) = (0.0, 1.0);
    for _ in 0..64 {
        let cut = values.iter().map(|value| (offset + factor * value).clamp(bounds.0, bounds.1));
        let (mean, deviation) = moments(cut);
        offset = (offset - mean) / deviation;
        factor /= deviation;
    }
    values.iter().map(|value| (offset + factor * value).clamp(bounds.0, bounds.1)).collect()
}

fn moments(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Returns the quantile at `share` of the Pareto distribution with scale 1.
fn pareto_quantile(share: f64) -> f64 {
    (1.0 - share).powf(-1.0 / PARETO_SHAPE)
}

/// Returns the quantile at `share` of the standard normal distribution, by Newton's method.
fn normal_quantile(share: f64) -> f64 {
    let mut x = 0.0;
    for _ in 0..64 {
        // Without the bounds, the first step from the middle would overshoot for a share in the tail.
        let step = ((normal_cdf(x) - share) / normal_density(x)).clamp(-0.5, 0.5);
        x -= step;
        if step.abs() < 1e-12 {
            break;
        }
    }
    x
}

/// Returns the standard normal distribution function at `x`, by Marsaglia's series: Evaluating the Normal Distribution,
/// Journal of Statistical Software 11(4), 2004.
fn normal_cdf(x: f64) -> f64 {
    let (mut sum, mut term, mut divisor) = (x, x, 1.0);
    while term.abs() > 1e-17 {
        divisor += 2.0;
        term *= x * x / divisor;
        sum += term;
    }
    0.5 + sum * normal_density(x)
}

fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> impl Iterator<Item = (Distribution, Vec<i16>)> {
        [Distribution::Normal, Distribution::Pareto, Distribution::Paretonormal]
            .into_iter()
            .map(|kind| (kind, table(kind).expect("these have tables")))
    }

    #[test]
    fn a_repair_is_as_often_repeated_as_losses_follow_one_another() {
        for ratio in [0.0, 0.1, 0.5, 1.0] {
            let table = repairs(ratio);
            for times in 0..=3_u16 {
                let least = ratio.powi(times.into());
                let next = if times == 3 { 0.0 } else { ratio.powi(i32::from(times) + 1) };
                let found = table.iter().filter(|&&entry| entry == (times * 8192) as i16).count();
                let off = found as f64 / table.len() as f64 - (least - next);
                assert!(off.abs() < 1.0 / table.len() as f64, "{ratio}, {times}: {found}");
            }
        }
    }

    #[test]
    fn mean_is_0_and_deviation_1() {
        for (kind, table) in tables() {
            let (mean, deviation) = moments(table.iter().map(|&entry| f64::from(entry) / SCALE));
            assert!(mean.abs() < 1e-4, "{kind:?}: mean {mean}");
            assert!((deviation - 1.0).abs() < 1e-4, "{kind:?}: deviation {deviation}");
        }
    }

    #[test]
    fn tables_ascend_as_quantiles_do() {
        for (kind, table) in tables() {
            assert!(table.is_sorted(), "{kind:?}");
            assert_eq!(table.len(), ENTRIES);
        }
    }

    /// Abramowitz and Stegun, table 26.5.
    #[test]
    fn normal_quantiles_are_those_of_the_books() {
        for (share, quantile) in [(0.5, 0.0), (0.841_344_746, 1.0), (0.975, 1.959_964), (0.001, -3.090_232)] {
            assert!((normal_quantile(share) - quantile).abs() < 1e-6, "{share}");
        }
    }

    /// The median of a Pareto distribution lies below its mean, and nothing lies far below it: delays have a floor and
    /// a tail.
    #[test]
    fn pareto_is_skewed() {
        let pareto = table(Distribution::Pareto).expect("has a table");
        assert!(pareto[ENTRIES / 2] < 0);
        assert!(pareto[0] > -8192, "the smallest is {} of 8192", pareto[0]);
        assert_eq!(pareto[ENTRIES - 1], i16::MAX);
    }

    #[test]
    fn the_uniform_one_is_netems_own() {
        assert_eq!(table(Distribution::Uniform), None);
    }
}
