//! New ids, made of a hash of the session: the same session gets the same ones.

/// Gives one id after the other.
#[derive(Clone, Debug)]
pub struct Ids {
    state: u64,
    salt: u64,
}

impl Ids {
    /// Begins with that hash.
    pub fn new(seed: &[u8; 32]) -> Self {
        let mut words = seed.as_chunks().0.iter();
        let mut word = || words.next().map_or(0, |word| u64::from_le_bytes(*word));
        Self {
            state: word(),
            salt: word(),
        }
    }

    /// The next 64 bits (`SplitMix64`, Steele and others 2014).
    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state ^ self.salt;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A UUID of version 4 (RFC 9562).
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.word(), self.word());
        let high = high & !0xf000 | 0x4000;
        let low = low & !(0b11 << 62) | 1 << 63;
        let (time, mid, version) = (high >> 32, (high >> 16) & 0xffff, high & 0xffff);
        let (clock, node) = (low >> 48, low & 0xffff_ffff_ffff);
        format!("{time:08x}-{mid:04x}-{version:04x}-{clock:04x}-{node:012x}")
    }

    /// Eight hex digits.
    pub fn short(&mut self) -> String {
        format!("{:08x}", self.word() >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn ids_follow_from_the_seed_and_look_as_they_should() {
        let mut ids = Ids::new(&[7; 32]);
        let (first, second, short) = (ids.uuid(), ids.uuid(), ids.short());
        assert_eq!(first, Ids::new(&[7; 32]).uuid());
        assert_ne!(first, second);
        assert_ne!(first, Ids::new(&[8; 32]).uuid());
        let lengths: Vec<usize> = first.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&first[14..15], "4");
        assert!("89ab".contains(&first[19..20]));
        assert_eq!(short.len(), 8);
    }
}
