//! A bounded sequence that is copied like a number: states hold no heap memory, so that a search of millions of
//! states does not allocate for each of them.
use std::fmt;
use std::ops::Deref;

/// The longest sequence. Longer ones are not cut off: [`Seq::is_whole`] turns false, and the search stops with an
/// error.
pub const LONGEST: usize = 48;

/// A sequence of at most [`LONGEST`] items. Items past its length are defaults, so that the derived equality is
/// the equality of sequences.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seq<T> {
    length: u8,
    items: [T; LONGEST],
}

impl<T: Copy + Default> Default for Seq<T> {
    fn default() -> Self {
        Seq {
            length: 0,
            items: [T::default(); LONGEST],
        }
    }
}

impl<T: Copy + Default> Seq<T> {
    /// TLA+'s `Append`.
    pub fn append(mut self, item: T) -> Self {
        if let Some(place) = self.items.get_mut(usize::from(self.length)) {
            *place = item;
        }
        self.length = self.length.saturating_add(1);
        self
    }

    /// Did everything that was appended fit?
    pub fn is_whole(&self) -> bool {
        usize::from(self.length) <= LONGEST
    }
}

impl<T> Deref for Seq<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..usize::from(self.length).min(LONGEST)]
    }
}

impl<T: Copy + Default> FromIterator<T> for Seq<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        items.into_iter().fold(Seq::default(), Seq::append)
    }
}

impl<T: fmt::Debug> fmt::Debug for Seq<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlong_sequence_says_so() {
        let full: Seq<u8> = (0..48).collect();
        assert!(full.is_whole() && full.len() == 48 && full[47] == 47);
        let over = full.append(48);
        assert!(!over.is_whole() && over.len() == 48 && over != full);
    }
}
