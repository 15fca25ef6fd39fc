//! States as 128 bits.
//!
//! A state is written as a self-delimiting code: reading takes exactly the bits that writing gave, so two states
//! have the same code only if they are the same state. What does not fit is an error of the search, never a
//! shortened code: counts stay exact.

/// Collects a code, least significant bits first.
#[derive(Default)]
pub struct Writer {
    code: u128,
    used: u32,
    failed: bool,
}

impl Writer {
    /// A number below `2^width`.
    pub fn number(&mut self, value: usize, width: u32) {
        self.failed |= width < usize::BITS && value >> width != 0;
        self.raw(value as u64, width);
    }

    /// A small count, in unary: most counts of a state are 0 or 1.
    pub fn count(&mut self, count: u8) {
        if count < 63 {
            self.raw((1 << count) - 1, u32::from(count) + 1);
        } else {
            self.failed = true;
        }
    }

    /// A truth value.
    pub fn flag(&mut self, value: bool) {
        self.raw(u64::from(value), 1);
    }

    /// Something is wrong with what was to be written.
    pub fn fail_unless(&mut self, fine: bool) {
        self.failed |= !fine;
    }

    fn raw(&mut self, value: u64, width: u32) {
        if self.used + width > u128::BITS {
            self.failed = true;
            return;
        }
        if width > 0 {
            self.code |= u128::from(value) << self.used;
        }
        self.used += width;
    }

    /// The code, if everything fitted.
    pub fn finish(self) -> Option<u128> {
        if self.failed {
            None
        } else {
            Some(self.code)
        }
    }
}

/// Reads what a [`Writer`] wrote, in the same order.
pub struct Reader {
    code: u128,
}

impl Reader {
    /// Starts at the first bit.
    pub fn new(code: u128) -> Self {
        Reader { code }
    }

    /// A number below `2^width`.
    pub fn number(&mut self, width: u32) -> usize {
        let value = (self.code as u64) & ((1 << width) - 1);
        self.code >>= width;
        value as usize
    }

    /// A small count.
    pub fn count(&mut self) -> u8 {
        let ones = (self.code as u64).trailing_ones();
        self.code >>= ones + 1;
        ones as u8
    }

    /// A truth value.
    pub fn flag(&mut self) -> bool {
        self.number(1) == 1
    }
}

/// The width of a number that is at most `most`.
pub fn width(most: usize) -> u32 {
    usize::BITS - most.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_takes_what_writing_gave() {
        let mut w = Writer::default();
        w.number(10, width(10));
        w.count(0);
        w.count(5);
        w.flag(true);
        w.number(0, width(0));
        w.number(63, 6);
        let mut r = Reader::new(w.finish().unwrap_or_default());
        assert_eq!(
            (
                r.number(4),
                r.count(),
                r.count(),
                r.flag(),
                r.number(0),
                r.number(6)
            ),
            (10, 0, 5, true, 0, 63)
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut wide = Writer::default();
        wide.number(16, 4);
        assert_eq!(wide.finish(), None);
        let mut long = Writer::default();
        for _ in 0..3 {
            long.count(50);
        }
        assert_eq!(long.finish(), None);
        let mut wrong = Writer::default();
        wrong.fail_unless(false);
        assert_eq!(wrong.finish(), None);
    }
}
