//! Files that were damaged: an error that names them, or rows; no panic, and never the end of the process, nor memory
//! without end, nor time.

mod damage;

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray, StructArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::Field;
use damage::Random;
use headrace_spark::{DataFile, Filter, Format, Input, Parquet, Part, Result, Source, from_json, read};
use orc_rust::proto::r#type::Kind;
use orc_rust::proto::{Footer, PostScript, Type};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use prost::Message;
use serde_json::json;

const ROWS: usize = 60;

/// Bytes that a process may have for the files of this test, which are a thousandth of it: what asks for more is ended.
const MEMORY: u64 = 4 << 30;

/// How often each file is damaged, where nobody says otherwise.
const ROUNDS: usize = 1_000;

const ASKED: &str = r#"{"fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"},
  {"name": "x", "type": "double"}, {"name": "gone", "type": "string"},
  {"name": "l", "type": {"type": "array", "elementType": "long"}},
  {"name": "deep", "type": {"type": "struct", "fields": [{"name": "a", "type": "long"}, {"name": "B", "type": "string"}]}},
  {"name": "nothing", "type": {"type": "array", "elementType": "long"}},
  {"name": "m", "type": {"type": "map", "keyType": "string", "valueType": {"type": "struct", "fields":
    [{"name": "x", "type": "double"}, {"name": "b", "type": "boolean"}]}}},
  {"name": "d", "type": "date"}, {"name": "at", "type": "timestamp"}, {"name": "p", "type": "decimal(12,2)"}]}"#;

struct Bytes(Vec<u8>);

impl Source for Bytes {
    fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> std::io::Result<()> {
        let found = self
            .0
            .get(position as usize..)
            .and_then(|from| from.get(..buffer.len()));
        buffer.copy_from_slice(found.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// How many rows there are: of all columns, or of none.
fn rows(bytes: &[u8], kind: &str, asked: &str) -> Result<usize> {
    let filter = r#"{"is": "compared", "column": ["n"], "how": "<", "value": "4000"}"#;
    let filter: Filter = serde_json::from_str(filter).unwrap();
    let part = Part {
        file: DataFile {
            path: "a/file".into(),
            input: Input::new(Bytes(bytes.to_vec()), bytes.len() as u64),
        },
        format: match kind {
            "parquet" => Format::Parquet(Parquet::default()),
            "orc" => serde_json::from_value(json!({"kind": "orc", "zone": "UTC"})).unwrap(),
            _ => Format::Ipc,
        },
        start: 0,
        length: u64::MAX,
        schema: Arc::new(from_json(&asked.parse().unwrap())?),
        first: None,
        case_sensitive: false,
        batch_rows: 25,
        batch_bytes: usize::MAX,
        limit: None,
        filters: vec![filter],
        calendars: None,
    };
    let mut rows = 0;
    for batch in read(part)?.0.take(1_000) {
        rows += batch?.num_rows();
    }
    Ok(rows)
}

fn table() -> RecordBatch {
    let numbers = Int64Array::from_iter((0..ROWS as i64).map(|i| (i % 7 != 0).then_some(i * 77)));
    let texts = StringArray::from_iter_values((0..ROWS).map(|i| format!("text {}", i % 17)));
    let lists = (0..ROWS as i64).map(|i| (i % 5 != 0).then(|| vec![Some(i), None]));
    let fields = [
        Field::new("A", numbers.data_type().clone(), true),
        Field::new("b", texts.data_type().clone(), true),
    ];
    let deep: Vec<ArrayRef> = vec![Arc::new(numbers.clone()), Arc::new(texts.clone())];
    let columns: [(&str, ArrayRef, bool); 5] = [
        ("n", Arc::new(numbers), true),
        ("s", Arc::new(texts), true),
        (
            "x",
            Arc::new(Float64Array::from_iter_values((0..ROWS).map(|i| i as f64))),
            true,
        ),
        (
            "l",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
            true,
        ),
        (
            "deep",
            Arc::new(StructArray::new(fields.to_vec().into(), deep, None)),
            true,
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn parquet(compression: Compression, version: WriterVersion) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_writer_version(version)
        .set_max_row_group_row_count(Some(40))
        .set_data_page_row_count_limit(15)
        .set_write_batch_size(5)
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_max_ndv(100);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, table().schema(), Some(properties.build())).unwrap();
    writer.write(&table()).unwrap();
    writer.close().unwrap();
    bytes
}

/// With what Arrow alone has: a dictionary, views, and a list of nothing.
fn ipc(compression: Option<CompressionType>, stream: bool) -> Vec<u8> {
    let whole = table();
    let coded = (0..ROWS).map(|i| ["a", "b", "c"][i % 3]);
    let coded: arrow_array::DictionaryArray<arrow_array::types::Int32Type> = coded.collect();
    let views = StringViewArray::from_iter_values((0..ROWS).map(|i| format!("a text of some length {i}")));
    let item = Arc::new(Field::new("item", arrow_schema::DataType::Null, true));
    let offsets = arrow_buffer::OffsetBuffer::from_repeated_length(2, ROWS);
    let nothing = ListArray::new(item, offsets, Arc::new(NullArray::new(2 * ROWS)), None);
    let more: [(&str, ArrayRef); 3] = [
        ("s", Arc::new(coded)),
        ("gone", Arc::new(views)),
        ("nothing", Arc::new(nothing)),
    ];
    let columns = ["n", "x", "l", "deep"].map(|name| (name, whole.column_by_name(name).unwrap().clone()));
    let batch = RecordBatch::try_from_iter(columns.into_iter().chain(more)).unwrap();
    let options = IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap();
    let mut bytes = Vec::new();
    match stream {
        true => {
            let mut writer =
                StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
            writer.write(&batch).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        false => {
            let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
    }
    bytes
}

/// Files of each format, however compressed. Those of ORC are pyarrow's.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut files = Vec::new();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            files.push(("parquet", parquet(compression, version)));
        }
    }
    for compression in [
        None,
        Some(CompressionType::LZ4_FRAME),
        Some(CompressionType::ZSTD),
    ] {
        files.push(("ipc", ipc(compression, false)));
        files.push(("ipc", ipc(compression, true)));
    }
    let orc: [&[u8]; 5] = [
        include_bytes!("orc/uncompressed.orc"),
        include_bytes!("orc/zlib.orc"),
        include_bytes!("orc/snappy.orc"),
        include_bytes!("orc/zstd.orc"),
        include_bytes!("orc/lz4.orc"),
    ];
    files.extend(orc.map(|bytes| ("orc", bytes.to_vec())));
    files
}

/// Damages all files in all ways, and says of each round which it is, so that the last one is known if the process ends.
fn damage_all(rounds: usize) {
    std::panic::set_hook(Box::new(|_| {})); // of panics there are many, and each is an error in the end
    for (number, (kind, whole)) in files().into_iter().enumerate() {
        let mut refused = 0;
        for round in 0..rounds {
            eprintln!("file {number} round {round}");
            let mut random = Random((number * 1_000_003 + round) as u64);
            let bytes = match (random.below(2), kind) {
                (0, "parquet") => damage::thrift(&whole, &mut random),
                (0, "orc") => damage::protobuf(&whole, &mut random),
                _ => damage::bytes(&whole, &mut random),
            };
            let started = Instant::now();
            for asked in [ASKED, r#"{"fields": []}"#] {
                if let Err(error) = rows(&bytes, kind, asked) {
                    assert!(error.to_string().contains("a/file"), "{error}");
                    refused += 1;
                }
            }
            assert!(
                started.elapsed() < Duration::from_secs(10),
                "{kind} took too long"
            );
        }
        assert!(refused > rounds / 4, "{kind}: {refused} of {rounds}");
    }
}

#[test]
fn damage_ends_no_process() {
    const CHILD: &str = "HEADRACE_DAMAGE_ROUNDS_HERE";
    if let Ok(rounds) = std::env::var(CHILD) {
        return damage_all(rounds.parse().unwrap());
    }
    for (kind, whole) in files() {
        let found = rows(&whole, kind, ASKED).unwrap();
        assert!(found > ROWS / 2, "{kind}: {found}");
    }
    let rounds = std::env::var("HEADRACE_DAMAGE_ROUNDS").map_or(ROUNDS, |told| told.parse().unwrap());
    let log = std::env::temp_dir().join(format!("headrace-damaged-{}.log", std::process::id()));
    let limited = format!(
        "ulimit -v {}; exec \"$0\" --exact damage_ends_no_process --nocapture",
        MEMORY >> 10
    );
    let mut child = Command::new("sh")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, rounds.to_string())
        .stdout(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended.success();
        }
        if started.elapsed() > Duration::from_millis(60_000 + 100 * rounds as u64) {
            child.kill().unwrap();
            break false;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let told = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert!(ended, "{}", &told[told.len().saturating_sub(2_000)..]);
}

/// An ORC file of no rows with types of these children.
fn orc_of(types: &[(Kind, &[u32])]) -> Vec<u8> {
    let one = |(kind, children): &(Kind, &[u32])| Type {
        kind: Some(*kind as i32),
        subtypes: children.to_vec(),
        field_names: children.iter().map(|child| format!("c{child}")).collect(),
        ..Type::default()
    };
    let footer = Footer {
        types: types.iter().map(one).collect(),
        number_of_rows: Some(0),
        ..Footer::default()
    };
    let footer = footer.encode_to_vec();
    let postscript = PostScript {
        footer_length: Some(footer.len() as u64),
        metadata_length: Some(0),
        ..PostScript::default()
    };
    let postscript = postscript.encode_to_vec();
    [b"ORC", &footer[..], &postscript, &[postscript.len() as u8]].concat()
}

/// A Parquet file of no rows, with columns that say that they have so many children.
fn parquet_of(children: &[u32]) -> Vec<u8> {
    // The version; a list of structs.
    let mut footer = [&[0x15, 2, 0x19, 0xfc][..], &damage::varint(children.len() as u64)].concat();
    for (place, count) in children.iter().enumerate() {
        let is_leaf = *count == 0;
        let mut field = 0;
        let mut begun = |footer: &mut Vec<u8>, number: u8, kind: u8| {
            footer.push((number - field) << 4 | kind);
            field = number;
        };
        if is_leaf {
            begun(&mut footer, 1, 5);
            footer.push(4); // INT64
        }
        if place > 0 {
            begun(&mut footer, 3, 5);
            footer.push(2); // optional
        }
        begun(&mut footer, 4, 8);
        footer.extend([1, b'c']);
        if !is_leaf {
            begun(&mut footer, 5, 5);
            footer.extend(damage::varint(2 * u64::from(*count)));
        }
        footer.push(0);
    }
    footer.extend([0x16, 0, 0x19, 0x0c, 0]); // no rows, no groups
    [
        b"PAR1",
        &footer[..],
        &(footer.len() as u32).to_le_bytes(),
        b"PAR1",
    ]
    .concat()
}

#[test]
fn columns_of_parquet_that_are_damaged_are_refused() {
    let asked = r#"{"fields": [{"name": "c", "type": "long"}]}"#;
    let read =
        |children: &[u32]| rows(&parquet_of(children), "parquet", asked).map_err(|why| why.to_string());
    assert_eq!(read(&[1, 0]), Ok(0));
    let damaged = Err("a/file cannot be read: its columns are damaged".to_string());
    assert_eq!(read(&[u32::MAX >> 1, 0]), damaged);
    assert_eq!(read(&[1, 1 << 30, 0]), damaged);
    let mut deep = vec![1; 100_000];
    deep.push(0);
    assert_eq!(read(&deep), damaged);
}

#[test]
fn types_of_orc_that_are_within_themselves_are_refused() {
    let asked = r#"{"fields": [{"name": "c1", "type": "long"}]}"#;
    let read = |types: &[(Kind, &[u32])]| rows(&orc_of(types), "orc", asked).map_err(|why| why.to_string());
    assert_eq!(read(&[(Kind::Struct, &[1]), (Kind::Long, &[])]), Ok(0));
    let damaged = Err("a/file cannot be read: its types are damaged".to_string());
    assert_eq!(read(&[(Kind::Struct, &[0])]), damaged);
    assert_eq!(read(&[(Kind::Struct, &[1]), (Kind::List, &[1])]), damaged);
    assert_eq!(
        read(&[(Kind::Struct, &[1]), (Kind::List, &[2]), (Kind::List, &[1])]),
        damaged
    );
    assert_eq!(read(&[(Kind::Struct, &[7])]), damaged);
    let deep: Vec<[u32; 1]> = (1..=200_000).map(|place| [place]).collect();
    let mut types: Vec<_> = deep.iter().map(|child| (Kind::List, &child[..])).collect();
    types[0].0 = Kind::Struct;
    types.push((Kind::Long, &[]));
    assert_eq!(read(&types), damaged);
}
