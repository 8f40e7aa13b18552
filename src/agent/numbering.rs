//! Numbers the reports of a boot. The numbers rise over restarts of the agent, without a file of the agent's own.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// The kernel makes a new text for each boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The boot, and the number of the last report.
pub struct Numbering {
    pub boot: String,
    last: i64,
}

impl Numbering {
    /// # Errors
    /// The boot's id cannot be read, as a sentence.
    pub fn start() -> Result<Numbering, String> {
        let boot =
            fs::read_to_string(BOOT_ID).map_err(|error| format!("cannot read the boot's id {BOOT_ID}: {error}"))?;
        Ok(Numbering {
            boot: boot.trim().to_owned(),
            last: 0,
        })
    }

    /// The number of the next report: the time since the boot in milliseconds, and greater than the last number.
    pub fn next_number(&mut self) -> i64 {
        self.last = number_after(self.last, since_boot());
        self.last
    }
}

fn number_after(last: i64, since_boot: i64) -> i64 {
    since_boot.max(last + 1)
}

/// In milliseconds. The clock goes on while the machine is suspended, and no person sets the clock.
fn since_boot() -> i64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_time_since_the_boot_or_one_more_than_the_last_number() {
        assert_eq!(
            [number_after(5, 9), number_after(9, 9), number_after(12, 9)],
            [9, 10, 13]
        );
    }

    #[test]
    fn numbers_rise_and_a_restarted_agent_goes_on_in_the_same_boot() {
        let mut first = Numbering::start().unwrap();
        let numbers: Vec<i64> = (0..3).map(|_| first.next_number()).collect();
        assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
        let mut second = Numbering::start().unwrap();
        assert_eq!(first.boot, second.boot);
        assert!(!first.boot.is_empty());
        // The agent that ended has sent far fewer reports than one in a millisecond.
        assert!(second.next_number() + 3 > numbers[2]);
    }
}
