//! A matrix of bits, whose rows are sets of providers or of required traits.

/// Rows of equal width, each in as many 64-bit words as the width needs.
#[derive(Clone, Debug, Default)]
pub(super) struct BitMatrix {
    row_words: usize,
    bits: Vec<u64>,
}

impl BitMatrix {
    /// Resizes the matrix to `rows` rows of `width` bits, all zero.
    pub fn reset(&mut self, rows: usize, width: usize) {
        self.row_words = width.div_ceil(64);
        self.bits.clear();
        self.bits.resize(rows * self.row_words, 0);
    }

    /// The size in words.
    pub fn size(&self) -> usize {
        self.bits.len()
    }

    pub fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.row_words..(row + 1) * self.row_words]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.row_words..(row + 1) * self.row_words]
    }

    /// Copies the row `from` to the row `to`.
    pub fn copy(&mut self, from: usize, to: usize) {
        // Nearly every row is one word, for which the call of `copy_within` would take most of the time.
        if self.row_words == 1 {
            self.bits[to] = self.bits[from];
            return;
        }
        let first = from * self.row_words;
        self.bits
            .copy_within(first..first + self.row_words, to * self.row_words);
    }

    pub fn set(&mut self, row: usize, bit: usize) {
        self.row_mut(row)[bit / 64] |= 1 << (bit % 64);
    }

    pub fn get(&self, row: usize, bit: usize) -> bool {
        self.row(row)[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// Set union.
pub(super) fn union_with(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
}

/// Set intersection.
pub(super) fn intersect_with(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to &= from);
}
