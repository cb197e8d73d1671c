//! Reading streams without Python: the vectors, and what becomes of them when they are damaged.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headrace_native::rowcodec::check::check;

const FUZZED: Duration = Duration::from_secs(5);

fn streams(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            streams(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "arrows") {
            let bytes = std::fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
}

fn vectors() -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    streams(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/rowcodec"),
        &mut found,
    );
    found.sort();
    assert!(found.len() > 50);
    found
}

#[test]
fn vectors_are_read() {
    for (path, bytes) in vectors() {
        let malformed = path.parent().unwrap().ends_with("malformed");
        let found = check(&bytes);
        assert!(malformed || found.is_ok(), "{}: {found:?}", path.display());
    }
}

#[test]
fn no_stream_is_read_that_was_cut() {
    for (path, bytes) in vectors().into_iter().filter(|(_, bytes)| bytes.len() < 20_000) {
        if path.parent().unwrap().ends_with("malformed") || check(&bytes).is_err() {
            continue;
        }
        for end in 0..bytes.len() {
            assert!(check(&bytes[..end]).is_err(), "{} cut at {end}", path.display());
        }
    }
}

/// What the fuzz target does for as long as it is let, for some seconds.
#[test]
fn damaged_streams_are_errors() {
    let vectors: Vec<_> = vectors()
        .into_iter()
        .filter(|(_, bytes)| bytes.len() < 20_000)
        .collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let begun = Instant::now();
    let mut tried = 0;
    while begun.elapsed() < FUZZED {
        let mut bytes = vectors[random(vectors.len())].1.clone();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(4) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes[at] ^= 1 << random(8),
                2 => {
                    let edges = [0, 1, -1, i64::from(i32::MAX), i64::MIN, i64::MAX];
                    let edge = edges[random(edges.len())].to_le_bytes();
                    let end = (at + 8).min(bytes.len());
                    bytes[at..end].copy_from_slice(&edge[..end - at]);
                }
                _ => bytes.truncate(at.max(1)),
            }
        }
        let _ = check(&bytes);
        tried += 1;
    }
    assert!(tried > 1000, "{tried}");
}
