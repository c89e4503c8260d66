//! Normally distributed draws that are the same on every machine. Pure.
//!
//! A mathematical library may round the logarithm differently on another processor. Addition, multiplication, division
//! and the square root are exactly defined everywhere (IEEE 754), so only these are used here.

use netwarp_wire::seeded::splitmix64;

/// The number of bits of a random integer that a double represents exactly.
const MANTISSA_BITS: u32 = 53;

/// A generator of random numbers from the standard normal distribution.
#[derive(Debug, Clone)]
pub(super) struct Normal {
    seed: u64,
    drawn: u64,
}

impl Normal {
    /// Creates a generator whose draws depend only on the seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Draws the next number, by the polar method (Marsaglia, Bray: A Convenient Method for Generating Normal
    /// Variables, SIAM Review 6(3), 1964).
    pub(super) fn draw(&mut self) -> f64 {
        loop {
            let (x, y) = (self.uniform(), self.uniform());
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * logarithm(square) / square).sqrt();
            }
        }
    }

    /// Draws a uniformly distributed number between -1 and 1.
    fn uniform(&mut self) -> f64 {
        let word = splitmix64(self.seed, self.drawn);
        self.drawn += 1;
        let share = (word >> (u64::BITS - MANTISSA_BITS)) as f64 / (1_u64 << MANTISSA_BITS) as f64;
        2.0 * share - 1.0
    }
}

/// Returns the natural logarithm of a number between 0 and 1.
fn logarithm(mut number: f64) -> f64 {
    let mut halvings = 0.0;
    // Doubling is exact.
    while number < std::f64::consts::FRAC_1_SQRT_2 {
        number *= 2.0;
        halvings += 1.0;
    }
    // ln x = 2 artanh((x - 1) / (x + 1)); each term of the series is smaller than the one before by a factor of at
    // least 34.
    let ratio = (number - 1.0) / (number + 1.0);
    let (mut sum, mut power, mut divisor) = (0.0, ratio, 1.0);
    while f64::abs(power) > 1e-18 {
        sum += power / divisor;
        power *= ratio * ratio;
        divisor += 2.0;
    }
    2.0 * sum - halvings * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_that_of_the_library() {
        for number in [1e-300, 1e-9, 0.1, 0.5, 0.7, 0.71, 0.999_999, 1.0] {
            let (ours, theirs) = (logarithm(number), f64::ln(number));
            assert!((ours - theirs).abs() <= 1e-15 * theirs.abs().max(1e-3), "{number}: {ours} and {theirs}");
        }
    }

    #[test]
    fn mean_deviation_and_tails_are_the_normal_ones() {
        let count = 100_000;
        let mut normal = Normal::new(7);
        let draws: Vec<f64> = (0..count).map(|_| normal.draw()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(count);
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / f64::from(count);
        // Four standard errors.
        assert!(mean.abs() < 4.0 / f64::from(count).sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 4.0 * (2.0 / f64::from(count)).sqrt(), "{variance}");
        let beyond_two = draws.iter().filter(|draw| draw.abs() > 2.0).count() as f64 / f64::from(count);
        assert!((beyond_two - 0.0455).abs() < 0.003, "{beyond_two}");
    }

    #[test]
    fn draws_depend_on_the_seed_alone() {
        let three = |seed| {
            let mut normal = Normal::new(seed);
            [normal.draw(), normal.draw(), normal.draw()]
        };
        assert_eq!(three(1), three(1));
        assert_ne!(three(1), three(2));
        assert_eq!(three(1).map(f64::to_bits), PINNED, "{:?}", three(1).map(f64::to_bits));
    }

    /// The bits of the first draws, recorded once: every machine must return the same.
    const PINNED: [u64; 3] = [4_601_407_943_086_469_324, 4_601_894_385_929_139_744, 13_822_931_456_121_442_852];
}
