//! A matrix of bits, whose rows are sets of providers or of required traits.

/// Rows of equal width, each in as many 64-bit words as it needs.
#[derive(Clone, Debug, Default)]
pub(super) struct BitMatrix {
    words: usize,
    all: Vec<u64>,
}

impl BitMatrix {
    /// Makes it `rows` of `width` zeros.
    pub fn reset(&mut self, rows: usize, width: usize) {
        self.words = width.div_ceil(64);
        self.all.clear();
        self.all.resize(rows * self.words, 0);
    }

    /// Its size in words.
    pub fn size(&self) -> usize {
        self.all.len()
    }

    pub fn row(&self, row: usize) -> &[u64] {
        &self.all[row * self.words..(row + 1) * self.words]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.all[row * self.words..(row + 1) * self.words]
    }

    /// Copies one row to another.
    pub fn copy(&mut self, from: usize, to: usize) {
        // Nearly always a row is one word; then a call of `copy_within` would take most of the time.
        if self.words == 1 {
            self.all[to] = self.all[from];
            return;
        }
        let first = from * self.words;
        self.all.copy_within(first..first + self.words, to * self.words);
    }

    pub fn set(&mut self, row: usize, bit: usize) {
        self.row_mut(row)[bit / 64] |= 1 << (bit % 64);
    }

    pub fn get(&self, row: usize, bit: usize) -> bool {
        self.row(row)[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// Set union.
pub(super) fn add(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
}

/// Set intersection.
pub(super) fn keep(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to &= from);
}
