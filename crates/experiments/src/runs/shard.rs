// SPDX-License-Identifier: MIT OR Apache-2.0
//! A share of the runs, for one of several processes that know nothing of each other: `3/64`, as of an array of batch jobs.

use std::fmt;
use std::str::FromStr;

/// One of so many equal shares of all runs. Which runs it has depends on their order alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1 on.
    number: u32,
    of: u32,
}

/// What is no share.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a number from 1 on and how many there are, such as `3/64`")]
pub struct NoShard;

impl Shard {
    /// Whether the run at this place, from 0 on, is in the share. Neighbours are in different ones: they take alike.
    pub fn has(&self, place: usize) -> bool {
        place % self.of as usize == self.number as usize - 1
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let (number, of) = text.split_once('/').ok_or(NoShard)?;
        let read = |text: &str| text.parse::<u32>().map_err(|_| NoShard);
        let shard = Self { number: read(number)?, of: read(of)? };
        if shard.number == 0 || shard.number > shard.of { Err(NoShard) } else { Ok(shard) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_share() {
        let shards: Vec<Shard> = (1..=5).map(|number| format!("{number}/5").parse().unwrap()).collect();
        assert!((0..23).all(|place| shards.iter().filter(|shard| shard.has(place)).count() == 1));
        assert_eq!(shards[2].to_string(), "3/5");
    }

    #[test]
    fn a_share_is_one_of_those_that_there_are() {
        for mistake in ["", "3", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/2/3"] {
            assert_eq!(mistake.parse::<Shard>(), Err(NoShard), "{mistake}");
        }
    }
}
