//! Text of any bytes as CSV: an error that names its file, or rows; the same ones whatever the parts it is read in.

use std::sync::Arc;

use arrow_array::RecordBatch;
use headrace_spark::{DataFile, Format, Input, Part, Result, Source, from_json, read};
use serde_json::{Value, json};

struct Bytes(Vec<u8>);

impl Source for Bytes {
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<()> {
        let begin = position as usize;
        buffer.copy_from_slice(&self.0[begin..begin + buffer.len()]);
        Ok(())
    }
}

const COLUMNS: [(&str, &str); 8] = [
    ("n", "long"),
    ("x", "double"),
    ("d", "date"),
    ("at", "timestamp"),
    ("p", "decimal(10,2)"),
    ("f", "boolean"),
    ("s", "string"),
    ("r", "float"),
];

fn format(options: &Value, corrupt: bool) -> Format {
    let mut told = json!({
        "kind": "csv", "delimiter": 44, "quote": 34, "escape": 92, "comment": null, "header": false, "nullValue": "",
        "emptyValue": "", "nanValue": "NaN", "positiveInf": "Inf", "negativeInf": "-Inf",
        "ignoreLeadingWhiteSpace": false, "ignoreTrailingWhiteSpace": false, "multiLine": false, "mode": "permissive",
        "strictDates": false, "preferDate": true, "clocks": false, "caseSensitive": false,
        "zone": {"first": 3600, "changes": [[0, 7200]], "repeats": true},
        "zoneNames": ["Europe/Paris"],
        "stripsReturns": true,
        "columns": COLUMNS.len(), "counted": true,
    });
    let places = (0..COLUMNS.len()).map(|place| json!(place));
    told["places"] = places.chain(corrupt.then_some(Value::Null)).collect();
    for (name, value) in options.as_object().unwrap() {
        told[name] = value.clone();
    }
    serde_json::from_value(told).unwrap()
}

fn batches(text: &[u8], options: &Value, start: u64, length: u64) -> Result<Vec<RecordBatch>> {
    let columns = COLUMNS.iter().chain(&[("_corrupt_record", "string")]);
    let fields: Vec<_> = columns
        .map(|(name, kind)| json!({"name": name, "type": kind}))
        .collect();
    let part = Part {
        file: DataFile {
            path: "a.csv".into(),
            input: Input::new(Bytes(text.to_vec()), text.len() as u64),
        },
        format: format(options, true),
        start,
        length,
        schema: Arc::new(from_json(&json!({"type": "struct", "fields": fields}))?),
        first: None,
        case_sensitive: true,
        batch_rows: 7,
        batch_bytes: usize::MAX,
        limit: None,
        filters: Vec::new(),
        calendars: None,
    };
    read(part)?.0.collect()
}

/// The rows of a text, read in parts of so many bytes.
fn rows(text: &[u8], options: &Value, length: u64) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for start in (0..text.len() as u64).step_by(length as usize) {
        for batch in batches(text, options, start, length)? {
            let columns = batch.columns();
            let value = |row: usize| {
                columns
                    .iter()
                    .map(move |column| format!("{:?}", column.slice(row, 1)))
            };
            found.extend((0..batch.num_rows()).map(|row| value(row).collect()));
        }
    }
    Ok(found)
}

fn random(seed: &mut u64) -> impl FnMut(usize) -> usize {
    move |below| {
        *seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (*seed >> 33) as usize % below
    }
}

#[test]
fn any_text_gives_rows_or_an_error_and_the_same_rows_in_parts() {
    let pieces: [&[u8]; 26] = [
        b",",
        b",",
        b",",
        b",",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b"\"",
        b"\"",
        b"\\",
        b" ",
        b"\t",
        b"#",
        b"1",
        b"-",
        b"2013-01-31",
        b"e9",
        b".5",
        b"true",
        b"\xff",
        b"\xe2\x82",
        b"\0",
        b"NaN",
        b"12:30:00+01:00",
        b"99999999999999999999",
    ];
    let dialects = [
        json!({}),
        json!({"escape": 34, "comment": 35, "emptyValue": "-"}),
        json!({"ignoreLeadingWhiteSpace": true, "ignoreTrailingWhiteSpace": true}),
        json!({"quote": 0, "escape": 0, "delimiter": 9}),
        json!({"mode": "dropmalformed", "header": true, "nullValue": "1"}),
        json!({"multiLine": true, "comment": 35}),
    ];
    let mut seed = 20261125;
    let mut random = random(&mut seed);
    let mut found = 0;
    for round in 0..1_500 {
        let text: Vec<u8> = (0..random(120))
            .flat_map(|_| pieces[random(pieces.len())])
            .copied()
            .collect();
        let options = &dialects[round % dialects.len()];
        let Ok(whole) = rows(&text, options, u64::MAX) else {
            panic!("{}", String::from_utf8_lossy(&text))
        };
        found += whole.len();
        if options.get("multiLine").is_none() {
            let parts = rows(&text, options, 1 + random(9) as u64).unwrap();
            assert_eq!(parts, whole, "{}", String::from_utf8_lossy(&text));
        }
    }
    assert!(found > 5_000, "{found}");
}
