//! Bytes from far away, fetched in large pieces: a round trip for a column or several, and not one for each page.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::input::Source;

/// Bytes that are fetched at once, at most, but for a page that is larger.
const MOST: u64 = 8 << 20;

/// Bytes that are fetched at once, at least, where there are so many.
const LEAST: u64 = 64 << 10;

/// Bytes between two columns that take less time than another round trip.
const GAP: u64 = 256 << 10;

/// Bytes that are held, at most, for a reader; a piece more while it is fetched.
const ROOM: u64 = 64 << 20;

/// Ranges of a source, of which a piece each is held: the one that was read last, and what comes after it.
pub struct Windows {
    source: Arc<dyn Source>,
    /// In order, and apart.
    ranges: Vec<Range<u64>>,
    /// Bytes that are fetched at once.
    step: u64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// By range.
    windows: Vec<Window>,
    bytes: u64,
    reads: u64,
}

#[derive(Clone, Default)]
struct Window {
    start: u64,
    bytes: Bytes,
    /// Which read was the last.
    read: u64,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn holds(&self, position: u64) -> bool {
        (self.start..self.end()).contains(&position)
    }
}

impl Windows {
    /// The chunks of columns that are going to be read, of one row group after the other.
    ///
    /// All columns of a group are read side by side. Where they do not fit, each is fetched piece by piece.
    pub fn new(source: Arc<dyn Source>, groups: Vec<Vec<Range<u64>>>) -> Self {
        let bytes = |group: &Vec<Range<u64>>| group.iter().map(|chunk| chunk.end - chunk.start).sum::<u64>();
        let step = if groups.iter().map(bytes).max().unwrap_or(0) <= ROOM / 2 {
            MOST
        } else {
            let columns = groups.iter().map(Vec::len).max().unwrap_or(1) as u64;
            (ROOM / 2 / columns).clamp(LEAST, MOST)
        };
        let mut chunks: Vec<_> = groups.into_iter().flatten().collect();
        chunks.sort_unstable_by_key(|chunk| chunk.start);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for chunk in chunks {
            match ranges.last_mut() {
                Some(last) if chunk.start < last.end => last.end = last.end.max(chunk.end),
                Some(last) if chunk.start - last.end <= GAP && chunk.end - last.start <= step => {
                    last.end = chunk.end
                }
                _ => ranges.push(chunk),
            }
        }
        let held = Held {
            windows: vec![Window::default(); ranges.len()],
            ..Held::default()
        };
        Windows {
            source,
            ranges,
            step,
            held: Mutex::new(held),
        }
    }

    fn range(&self, position: u64) -> Option<usize> {
        let place = self.ranges.partition_point(|range| range.end <= position);
        (place < self.ranges.len() && self.ranges[place].contains(&position)).then_some(place)
    }

    /// Bytes of a range, held or fetched with those that come after them.
    fn held(&self, place: usize, position: u64, length: usize) -> io::Result<Bytes> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let end = position + length as u64;
        let window = &held.windows[place];
        let bytes = if window.holds(position) && end <= window.end() {
            let begin = (position - window.start) as usize;
            window.bytes.slice(begin..begin + length)
        } else {
            let range = &self.ranges[place];
            let whole = range.end - range.start <= self.step && end <= range.end;
            let start = if whole { range.start } else { position };
            let fetched = self.fetched(&held.windows[place], place, start, end)?;
            let begin = (position - start) as usize;
            let bytes = fetched.slice(begin..begin + length);
            held.put(place, start, fetched);
            bytes
        };
        held.reads += 1;
        held.windows[place].read = held.reads;
        Ok(bytes)
    }

    /// Bytes from a position on; those that the window has are not fetched again.
    fn fetched(&self, window: &Window, place: usize, position: u64, end: u64) -> io::Result<Bytes> {
        let end = end.max(self.ranges[place].end.min(position + self.step));
        let mut bytes = vec![0; (end - position) as usize];
        let known = if window.holds(position) {
            let known = &window.bytes[(position - window.start) as usize..];
            bytes[..known.len()].copy_from_slice(known);
            known.len()
        } else {
            0
        };
        self.source
            .read_exact_at(&mut bytes[known..], position + known as u64)?;
        Ok(bytes.into())
    }
}

impl Held {
    /// Puts a window in its place; others go, those first that were not read for longest, until there is room.
    fn put(&mut self, place: usize, start: u64, bytes: Bytes) {
        self.drop(place);
        while self.bytes + bytes.len() as u64 > ROOM {
            let full = (0..self.windows.len()).filter(|place| !self.windows[*place].bytes.is_empty());
            let Some(oldest) = full.min_by_key(|place| self.windows[*place].read) else {
                break;
            };
            self.drop(oldest);
        }
        self.bytes += bytes.len() as u64;
        self.windows[place] = Window {
            start,
            bytes,
            read: 0,
        };
    }

    fn drop(&mut self, place: usize) {
        self.bytes -= self.windows[place].bytes.len() as u64;
        self.windows[place] = Window::default();
    }
}

impl Source for Windows {
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        match self.range(position) {
            Some(place) => buffer.copy_from_slice(&self.held(place, position, buffer.len())?),
            None => self.source.read_exact_at(buffer, position)?,
        }
        Ok(())
    }

    fn bytes(&self, position: u64, length: usize) -> io::Result<Bytes> {
        match self.range(position) {
            Some(place) => self.held(place, position, length),
            None => self.source.bytes(position, length),
        }
    }

    fn run(&self, position: u64) -> u64 {
        let Some(place) = self.range(position) else {
            return self.source.run(position);
        };
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let window = &held.windows[place];
        let end = if window.holds(position) {
            window.end()
        } else {
            self.ranges[place].end
        };
        end - position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that tell their place, and the begins and ends of what was asked for.
    #[derive(Default)]
    struct Far(Mutex<Vec<(u64, u64)>>);

    impl Source for Far {
        fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
            self.0
                .lock()
                .unwrap()
                .push((position, position + buffer.len() as u64));
            for (place, byte) in (position..).zip(buffer) {
                *byte = told(place);
            }
            Ok(())
        }
    }

    fn told(place: u64) -> u8 {
        (place ^ (place >> 8) ^ (place >> 16)) as u8
    }

    /// The requests made by reads from positions on.
    fn requests(
        groups: Vec<Vec<Range<u64>>>,
        reads: impl IntoIterator<Item = Range<u64>>,
    ) -> Vec<(u64, u64)> {
        let far = Arc::new(Far::default());
        let windows = Windows::new(far.clone(), groups);
        for read in reads {
            let bytes = windows
                .bytes(read.start, (read.end - read.start) as usize)
                .unwrap();
            assert!(
                (read.start..)
                    .zip(&bytes)
                    .all(|(place, byte)| *byte == told(place))
            );
            assert!(windows.held.lock().unwrap().bytes <= ROOM);
        }
        std::mem::take(&mut *far.0.lock().unwrap())
    }

    #[test]
    fn neighbouring_columns_are_one_request() {
        let group = vec![1_000..5_000, 5_000..9_000, 20_000..30_000];
        let reads = [
            1_000..1_020,
            1_020..5_000,
            5_000..5_020,
            20_000..29_000,
            6_000..9_000,
        ];
        assert_eq!(requests(vec![group], reads), [(1_000, 30_000)]);
    }

    #[test]
    fn columns_far_apart_are_a_request_each() {
        let group = vec![0..1_000, 5_000_000..5_001_000];
        let reads = [0..10, 5_000_000..5_000_010, 10..1_000, 5_000_010..5_001_000];
        assert_eq!(requests(vec![group], reads), [(0, 1_000), (5_000_000, 5_001_000)]);
    }

    #[test]
    fn what_is_asked_for_nowhere_is_not_fetched() {
        assert_eq!(
            requests(vec![vec![0..1_000]], [2_000..2_010, 2_000..2_010]),
            [(2_000, 2_010), (2_000, 2_010)]
        );
    }

    #[test]
    fn a_range_that_is_read_from_its_end_comes_whole() {
        assert_eq!(
            requests(vec![vec![500..1_000]], [992..1_000, 600..992]),
            [(500, 1_000)]
        );
    }

    #[test]
    fn a_large_column_comes_piece_by_piece_and_no_byte_twice() {
        let pages = (0..30).map(|page| page * 1_000_000..(page + 1) * 1_000_000);
        let asked = requests(vec![vec![0..30_000_000]], pages);
        assert_eq!(
            asked.iter().map(|(start, end)| end - start).sum::<u64>(),
            30_000_000
        );
        assert_eq!(asked.len(), 4);
    }

    #[test]
    fn columns_that_do_not_fit_are_read_side_by_side_and_no_byte_twice() {
        const COLUMN: u64 = 2 << 20;
        const PAGE: u64 = 10_000;
        let columns: Vec<_> = (0..100).map(|i| i * COLUMN..(i + 1) * COLUMN).collect();
        let pages = (0..COLUMN / PAGE)
            .flat_map(|page| (0..100).map(move |i| i * COLUMN + page * PAGE..i * COLUMN + (page + 1) * PAGE));
        let asked = requests(vec![columns], pages);
        let bytes: u64 = asked.iter().map(|(start, end)| end - start).sum();
        assert!(bytes <= 100 * COLUMN, "{bytes}");
        assert!(asked.len() < 1_000, "{}", asked.len());
    }

    #[test]
    fn a_run_ends_where_the_next_request_begins() {
        let windows = Windows::new(Arc::new(Far::default()), vec![vec![0..20_000_000]]);
        assert_eq!(windows.run(19_999_990), 10);
        windows.bytes(0, 10).unwrap();
        assert_eq!(windows.run(100), MOST - 100);
        assert_eq!(windows.run(MOST), 20_000_000 - MOST);
    }
}
