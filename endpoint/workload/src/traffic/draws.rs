//! The sizes of flows, and when they are due, drawn from the job's seed. Pure: a job gives the same at both ends.

use netwarp_core::flow::Schedule;
use netwarp_wire::job::{Direction, Flow, Traffic};
use netwarp_wire::seeded::splitmix64;

/// The divisor that converts a random integer of 53 bits to a share from 0 (included) to 1 (excluded).
const STEPS: f64 = (1_u64 << 53) as f64;

/// Returns when each flow is due, in nanoseconds after the beginning of the workload.
pub(super) fn due_ns(traffic: &Traffic) -> impl Iterator<Item = u64> + Send + use<> {
    Schedule::of(&Flow {
        seed: traffic.seed,
        direction: Direction::Down,
        message_bytes: 0,
        arrivals: traffic.arrivals.clone(),
        messages: Some(traffic.flows.into()),
        duration_ns: None,
        packet_table: false,
    })
}

/// Draws the size of a flow, by inverting the cumulative distribution of sizes.
pub(super) fn size_bytes(traffic: &Traffic, number: u32) -> u64 {
    // The complement of the seed, because the arrivals are drawn from the seed itself.
    let share = (splitmix64(!traffic.seed, number.into()) >> 11) as f64 / STEPS;
    let after = traffic.sizes.partition_point(|point| point.ratio <= share);
    let [Some(before), Some(after)] =
        [after.checked_sub(1).and_then(|at| traffic.sizes.get(at)), traffic.sizes.get(after)]
    else {
        return traffic.sizes.last().map_or(1, |point| point.size_bytes);
    };
    let within = (share - before.ratio) / (after.ratio - before.ratio);
    before.size_bytes + (within * (after.size_bytes - before.size_bytes) as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use netwarp_wire::job::{Arrivals, SizePoint};

    use super::*;

    fn traffic(flows: u32) -> Traffic {
        let sizes = [(100, 0.0), (100, 0.25), (1_000, 0.5), (9_000, 1.0)];
        let sizes = sizes.map(|(size_bytes, ratio)| SizePoint { size_bytes, ratio }).to_vec();
        Traffic { seed: 7, flows, arrivals: Arrivals::Poisson { interval_ns: 1_000_000 }, sizes }
    }

    /// A quarter of the flows have 100 bytes; the mean is (100 + 550 + 2 · 5 000) / 4 bytes.
    #[test]
    fn sizes_have_the_distribution_that_was_asked_for() {
        let traffic = traffic(40_000);
        let sizes: Vec<u64> = (0..traffic.flows).map(|number| size_bytes(&traffic, number)).collect();
        let share = |most| sizes.iter().filter(|size| **size <= most).count() as f64 / sizes.len() as f64;
        assert!((share(100) - 0.25).abs() < 0.01, "{}", share(100));
        assert!((share(1_000) - 0.5).abs() < 0.01, "{}", share(1_000));
        assert!((share(5_000) - 0.75).abs() < 0.01, "{}", share(5_000));
        let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
        assert!((mean / 2662.5 - 1.0).abs() < 0.03, "{mean}");
        assert!(sizes.iter().all(|size| (100..=9_000).contains(size)));
    }

    #[test]
    fn times_and_sizes_are_drawn_apart() {
        let traffic = traffic(2_000);
        let times: Vec<u64> = due_ns(&traffic).collect();
        assert_eq!(times.len(), 2_000);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let sizes: Vec<f64> = (1..2_000).map(|number| size_bytes(&traffic, number) as f64).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (of_gaps, of_sizes) = (mean(&gaps), mean(&sizes));
        let product = |(gap, size): (&f64, &f64)| (gap - of_gaps) * (size - of_sizes);
        let covariance = gaps.iter().zip(&sizes).map(product).sum::<f64>() / gaps.len() as f64;
        let deviation = |values: &[f64], mean: f64| {
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
        };
        let correlation = covariance / deviation(&gaps, of_gaps) / deviation(&sizes, of_sizes);
        assert!(correlation.abs() < 0.1, "{correlation}");
    }
}
