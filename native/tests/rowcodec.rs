//! Reading streams without Python: the vectors, and what becomes of them when they are damaged.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headrace_native::rowcodec::check::check;
use headrace_native::rowcodec::wire::flatbuf::{Slot, Writer};
use headrace_native::rowcodec::wire::message::{END, Out, SCHEMA, V5, put_framed};
use headrace_native::rowcodec::wire::{Dictionary, Field, Schema, Type};

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

/// A stream of a schema alone.
fn stream_of(schema: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    put_framed(&mut stream, schema);
    stream.put(&END);
    stream
}

#[test]
fn entries_of_maps_are_no_dictionary() {
    let mut entries = Field::new("entries", Type::Struct);
    entries.children = vec![Field::new("key", Type::Utf8), Field::new("value", Type::Bool)];
    let stream = |entries: &Field| {
        let mut map = Field::new("map", Type::Map);
        map.children = vec![entries.clone()];
        let fields = vec![map];
        stream_of(
            &Schema {
                fields,
                ..Schema::default()
            }
            .write(),
        )
    };
    assert_eq!(check(&stream(&entries)).unwrap(), 0);
    entries.dictionary = Some(Dictionary {
        id: 0,
        bits: 8,
        signed: true,
    });
    assert!(check(&stream(&entries)).is_err());
}

/// All fields, and all of their metadata, are the same bytes of the message.
#[test]
fn a_schema_does_not_tell_a_thing_too_often() {
    const TIMES: usize = 20_000;
    let mut out = Writer::new();
    let message = out.table([Slot::I16(V5), Slot::U8(SCHEMA), Slot::Offset, Slot::Default]);
    out.point(message[2], out.next_table(2));
    let schema = out.table([Slot::I16(0), Slot::Offset]);
    let fields = out.offsets(schema[1], TIMES);
    let field = out.next_table(7);
    (0..TIMES).for_each(|n| out.point(fields + 4 * n, field));
    let (kind, ty, metadata) = (2, 3, 6);
    let mut slots = [Slot::Default; 7];
    (slots[kind], slots[ty], slots[metadata]) = (Slot::U8(1), Slot::Offset, Slot::Offset);
    let field = out.table(slots);
    out.point(field[ty], out.next_table(1));
    out.table([Slot::Default]);
    let pairs = out.offsets(field[metadata], TIMES);
    let pair = out.next_table(2);
    (0..TIMES).for_each(|n| out.point(pairs + 4 * n, pair));
    let pair = out.table([Slot::Offset, Slot::Offset]);
    out.string(pair[0], "key");
    out.string(pair[1], "value");
    let damage = check(&stream_of(&out.bytes)).unwrap_err();
    assert!(damage.to_string().contains("far more"), "{damage}");
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
