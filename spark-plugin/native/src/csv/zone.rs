//! A time zone, by when its clocks change.

use serde::Deserialize;

/// After so many seconds, clocks change as they did: 400 years of the calendar.
const CYCLE: i64 = 146_097 * 86_400;

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Zone {
    /// Seconds that clocks are ahead of UTC before the first change.
    first: i64,
    /// In order: the seconds, on the later of both clocks, of a change, and how far ahead of UTC they are after it.
    changes: Vec<(i64, i64)>,
    /// Whether the last of the changes are those of a whole cycle, after which they come again.
    repeats: bool,
}

impl Zone {
    /// The moment, in seconds since 1970 in UTC, at which clocks show these: the earlier one where they show them
    /// twice; where they skip them, the one at which they would without the change.
    pub fn moment(&self, clock: i64) -> Option<i64> {
        let shown = match self.changes.last() {
            Some((last, _)) if self.repeats && clock > *last => {
                clock - (clock - last + CYCLE - 1) / CYCLE * CYCLE
            }
            _ => clock,
        };
        clock.checked_sub(self.ahead(shown))
    }

    /// Seconds that clocks are ahead of UTC when they show these.
    pub fn ahead(&self, clock: i64) -> i64 {
        let after = self.changes.partition_point(|(change, _)| *change <= clock);
        if after == 0 {
            self.first
        } else {
            self.changes[after - 1].1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An hour ahead; from the 100,000th second on two, and back at the 200,000th.
    fn zone() -> Zone {
        serde_json::from_str(
            r#"{"first": 3600, "changes": [[107200, 7200], [207200, 3600]], "repeats": true}"#,
        )
        .unwrap()
    }

    #[test]
    fn times_that_clocks_skip_are_later() {
        assert_eq!(zone().moment(103_599), Some(99_999));
        assert_eq!(zone().moment(103_600), Some(100_000));
        assert_eq!(zone().moment(107_199), Some(103_599));
        assert_eq!(zone().moment(107_200), Some(100_000));
    }

    #[test]
    fn times_that_clocks_show_twice_are_the_earlier_ones() {
        assert_eq!(zone().moment(203_600), Some(196_400));
        assert_eq!(zone().moment(207_199), Some(199_999));
        assert_eq!(zone().moment(207_200), Some(203_600));
    }

    #[test]
    fn clocks_change_again_after_a_cycle() {
        assert_eq!(zone().moment(107_200 + 3 * CYCLE), Some(100_000 + 3 * CYCLE));
        assert_eq!(zone().moment(208_000 + CYCLE), Some(204_400 + CYCLE));
    }
}
