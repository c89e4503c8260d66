//! Numbers and bytes made from a seed, with random access: splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom
//! Number Generators, OOPSLA 2014).

const WORD_BYTES: u64 = size_of::<u64>() as u64;

/// Returns the output of splitmix64 with this index.
#[inline(always)]
pub fn splitmix64(seed: u64, index: u64) -> u64 {
    let mut word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index.wrapping_add(1)));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Fills `block` with the bytes from `offset` on: word i is splitmix64's i-th output, little endian.
pub fn fill(seed: u64, offset: u64, block: &mut [u8]) {
    let misaligned = (offset % WORD_BYTES) as usize;
    let mut index = offset / WORD_BYTES;
    let mut rest = block;
    if misaligned != 0 {
        let word = splitmix64(seed, index).to_le_bytes();
        let length = rest.len().min(word.len() - misaligned);
        let (head, tail) = rest.split_at_mut(length);
        head.copy_from_slice(&word[misaligned..misaligned + length]);
        (rest, index) = (tail, index + 1);
    }
    let whole_bytes = rest.len() - rest.len() % WORD_BYTES as usize;
    let (words, tail) = rest.split_at_mut(whole_bytes);
    fill_words(seed, index, words);
    index += words.len() as u64 / WORD_BYTES;
    tail.copy_from_slice(&splitmix64(seed, index).to_le_bytes()[..tail.len()]);
}

/// Fills the block four words at a time if the CPU can. That halves the time, which is a tenth of the time of a
/// lossless TCP run.
fn fill_words(seed: u64, index: u64, block: &mut [u8]) {
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has the instructions that the function uses.
        unsafe { fill_words_by_four(seed, index, block) }
    } else {
        fill_words_anywhere(seed, index, block);
    }
}

/// Fills the block as [`fill_words_anywhere`] does, but compiled for AVX2.
///
/// # Safety
/// The CPU must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn fill_words_by_four(seed: u64, index: u64, block: &mut [u8]) {
    fill_words_anywhere(seed, index, block);
}

/// Fills the block word by word. It is compiled twice: the compiler processes as many words at once as the caller's
/// target features allow.
#[inline(always)]
fn fill_words_anywhere(seed: u64, first: u64, block: &mut [u8]) {
    let words = block.chunks_exact_mut(WORD_BYTES as usize);
    for (word, index) in words.zip(first..) {
        word.copy_from_slice(&splitmix64(seed, index).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_reference() {
        // First outputs of the reference implementation for seed 1234567 (prng.di.unimi.it/splitmix64.c).
        let expected = [6_457_827_717_110_365_317_u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        let words: Vec<u64> = (0..3).map(|index| splitmix64(1_234_567, index)).collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn bytes_are_the_words_wherever_a_block_begins_and_ends() {
        let expected: Vec<u8> = (0..40).flat_map(|index| splitmix64(7, index).to_le_bytes()).collect();
        for begin in 0..20 {
            for end in begin..expected.len() {
                let mut block = vec![0; end - begin];
                fill(7, begin as u64, &mut block);
                assert_eq!(block, expected[begin..end], "bytes {begin} to {end}");
            }
        }
    }

    #[test]
    fn every_cpu_makes_the_same() {
        let (mut one, mut other) = (vec![0; 4096], vec![0; 4096]);
        fill_words(u64::MAX, 5, &mut one);
        fill_words_anywhere(u64::MAX, 5, &mut other);
        assert_eq!(one, other);
    }
}
