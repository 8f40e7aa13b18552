//! Groups of numbers, stored together.

/// Numbers in groups.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The index of the first number of each group, and the length.
    starts: Vec<u32>,
    numbers: Vec<u32>,
}

impl Groups {
    /// Groups of pairs of a group and a number. Within a group the numbers keep their order.
    pub fn of(groups: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Groups {
        let mut starts = vec![0; groups + 1];
        for (group, _) in pairs.clone() {
            starts[group as usize + 1] += 1;
        }
        for at in 0..groups {
            starts[at + 1] += starts[at];
        }
        let (mut next, mut numbers) = (starts.clone(), vec![0; starts[groups] as usize]);
        for (group, number) in pairs {
            let at = &mut next[group as usize];
            numbers[*at as usize] = number;
            *at += 1;
        }
        Groups { starts, numbers }
    }

    pub fn of_group(&self, group: u32) -> &[u32] {
        let (from, to) = (self.starts[group as usize], self.starts[group as usize + 1]);
        &self.numbers[from as usize..to as usize]
    }

    /// All groups, in their order.
    pub fn all(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.starts.len() as u32 - 1).map(move |group| self.of_group(group))
    }

    /// About how many bytes the groups occupy.
    pub fn bytes(&self) -> usize {
        (self.starts.len() + self.numbers.len()) * size_of::<u32>()
    }
}
