//! Files whose bytes were changed: an error that names them, or rows; no panic, and never the end of the process.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use headrace_spark::{DataFile, Format, Input, Part, Result, from_json, read};
use parquet::arrow::ArrowWriter;

const ROWS: usize = 500;
const ASKED: &str =
    r#"{"type": "struct", "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]}"#;

fn rows(path: &str) -> Result<usize> {
    let file = DataFile {
        path: path.into(),
        input: Input::local(path)?,
    };
    let part = Part {
        file,
        format: Format::Parquet,
        start: 0,
        length: u64::MAX,
        schema: Arc::new(from_json(&ASKED.parse().unwrap())?),
        case_sensitive: true,
        batch_rows: 100,
        batch_bytes: usize::MAX,
        limit: None,
        filters: Vec::new(),
    };
    read(part)?
        .0
        .map(|batch| batch.map(|batch| batch.num_rows()))
        .sum()
}

#[test]
fn damage_ends_no_process() {
    let numbers = Int64Array::from_iter_values(0..ROWS as i64);
    let texts = StringArray::from_iter_values((0..ROWS).map(|i| format!("text {}", i % 17)));
    let columns: [(&str, Arc<dyn arrow_array::Array>); 2] =
        [("n", Arc::new(numbers)), ("s", Arc::new(texts))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = std::env::temp_dir().join(format!("headrace-damaged-{}.parquet", std::process::id()));
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let shown = path.to_str().unwrap();
    assert_eq!(rows(shown).unwrap(), ROWS);

    let whole = std::fs::read(&path).unwrap();
    let mut seed = 20261125_u64;
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) as usize % below
    };
    let mut refused = 0;
    for _ in 0..3_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random(3) {
            let place = random(bytes.len());
            bytes[place] = random(256) as u8;
        }
        if random(10) == 0 {
            bytes.truncate(random(whole.len()));
        }
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = rows(shown) {
            assert!(error.to_string().contains(shown), "{error}");
            refused += 1;
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert!(refused > 500, "{refused}");
}
