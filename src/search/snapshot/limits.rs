//! Normal limits: how far a class may be used as a rule, below the limits of its inventories.

use std::fmt;
use std::str::FromStr;

use super::inventory::Inventory;

/// A share is counted in parts per million.
const MILLION: u32 = 1_000_000;
const DECIMALS: usize = 6;

/// The normal limit of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormalLimit {
    /// This share of the limit of each inventory is kept free, in parts per million; at most a million.
    Buffer(u32),
    /// `total - reserved`: the allocation ratio is used only if need be.
    Physical,
}

impl NormalLimit {
    /// The highest sum of usage within the normal limit; at most [`Inventory::limit`]. Exact: rounded down, without
    /// floating point.
    pub fn of(self, inventory: &Inventory) -> i64 {
        let limit = inventory.limit();
        match self {
            NormalLimit::Buffer(buffer) => {
                let kept = i128::from(MILLION - buffer.min(MILLION));
                let normal = (i128::from(limit) * kept).div_euclid(i128::from(MILLION));
                // A limit below zero is already the lowest.
                i64::try_from(normal).unwrap_or(limit).min(limit)
            }
            NormalLimit::Physical => limit.min(i64::from(inventory.total) - i64::from(inventory.reserved)),
        }
    }
}

/// The buffer as a decimal without needless zeros, or `physical`.
impl fmt::Display for NormalLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NormalLimit::Physical => f.write_str("physical"),
            NormalLimit::Buffer(buffer) => {
                let decimals = format!("{:0DECIMALS$}", buffer % MILLION);
                let decimals = decimals.trim_end_matches('0');
                let point = if decimals.is_empty() { "" } else { "." };
                write!(f, "{}{point}{decimals}", buffer / MILLION)
            }
        }
    }
}

/// Reads the text that [`fmt::Display`] writes. A buffer is a decimal from 0 to 1 with at most six decimals.
impl FromStr for NormalLimit {
    type Err = ();

    fn from_str(text: &str) -> Result<NormalLimit, ()> {
        if text == "physical" {
            return Ok(NormalLimit::Physical);
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let are_digits = decimals.bytes().all(|byte| byte.is_ascii_digit());
        if !matches!(whole, "0" | "1") || !(1..=DECIMALS).contains(&decimals.len()) || !are_digits {
            return Err(());
        }
        let parts: u32 = format!("{whole}{decimals:0<DECIMALS$}").parse().map_err(|_| ())?;
        (parts <= MILLION).then_some(NormalLimit::Buffer(parts)).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(total: i32, limit: &str) -> i64 {
        limit.parse::<NormalLimit>().unwrap().of(&Inventory::whole(total))
    }

    #[test]
    fn a_share_is_taken_exactly_and_rounded_down() {
        assert_eq!(normal(189, "0.1"), 170);
        assert_eq!(normal(7, "0.15"), 5);
        assert_eq!(normal(100, "0.2"), 80);
        assert_eq!(normal(100, "0"), 100);
        assert_eq!(normal(100, "1"), 0);
        // In floats, 1 - 0.9 is less than 0.1.
        assert_eq!(normal(10, "0.9"), 1);
        assert_eq!(normal(2_147_483_647, "0.000001"), 2_147_481_499);
    }

    #[test]
    fn every_total_and_buffer_gives_what_counting_in_hundredths_gives() {
        for total in 0..300 {
            for percent in 0..=100 {
                let text = if percent == 100 {
                    "1".to_owned()
                } else {
                    format!("0.{percent:02}")
                };
                let oracle = (0..=i64::from(total))
                    .rev()
                    .find(|n| n * 100 <= i64::from(total) * (100 - percent));
                assert_eq!(Some(normal(total, &text)), oracle, "{total} less {percent} %");
            }
        }
    }

    #[test]
    fn physical_is_what_is_there_whatever_the_ratio() {
        let of = |total, reserved, ratio| {
            let inventory = Inventory {
                reserved,
                allocation_ratio: ratio,
                ..Inventory::whole(total)
            };
            NormalLimit::Physical.of(&inventory)
        };
        assert_eq!(of(100, 10, 16.0), 90);
        assert_eq!(of(100, 10, 0.5), 45);
        assert_eq!(of(100, 110, 2.0), -20);
    }

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        for text in ["0", "1", "0.15", "0.000001", "physical"] {
            assert_eq!(text.parse::<NormalLimit>().unwrap().to_string(), text);
        }
        assert_eq!("0.2".parse::<NormalLimit>(), "0.20".parse());
        for wrong in [
            "",
            "1.2",
            "1.000001",
            "-0.1",
            "0.0000001",
            ".5",
            "0.",
            "0,5",
            "0.1e1",
            "2",
            "00.1",
            "0.+1",
        ] {
            assert_eq!(wrong.parse::<NormalLimit>(), Err(()), "{wrong}");
        }
    }
}
