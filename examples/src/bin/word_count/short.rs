//! Words that fit in a number.

/// Bytes of the longest.
pub const SHORT: usize = size_of::<u128>();

/// A word, which is not empty and holds no zero byte, as a number, its first byte lowest. No two words have the same.
#[inline(always)]
pub fn to_number(word: &[u8]) -> u128 {
    // Two loads that may overlap read any length; a byte read twice is the same byte twice.
    if let (Some(first), Some(last)) = (word.first_chunk::<8>(), word.last_chunk::<8>()) {
        let last = u128::from(u64::from_le_bytes(*last));
        u128::from(u64::from_le_bytes(*first)) | last << (8 * (word.len() - 8))
    } else if let (Some(first), Some(last)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last));
        u128::from(u64::from(u32::from_le_bytes(*first)) | last << (8 * (word.len() - 4)))
    } else {
        word.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
    }
}

/// The word of a number.
pub fn from_number(number: u128) -> Vec<u8> {
    number.to_le_bytes()[..SHORT - number.leading_zeros() as usize / 8].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_length_come_out_as_they_went_in() {
        let letters: Vec<u8> = (0..SHORT as u8).map(|number| 255 - 17 * (number % 15)).collect();
        for length in 1..=SHORT {
            let word = &letters[..length];
            assert_eq!(*from_number(to_number(word)), *word);
        }
    }
}
