package headrace.spark.rows;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import headrace.spark.HeadraceException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class RowWriterTest {
  /** Columns of all types, more than one generated method has. */
  private static final StructType ALL =
      StructType.fromDDL(
          "bool BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, f32 FLOAT, f64 DOUBLE, few STRING, many STRING, wide STRING, "
              + "bytes BINARY, day DATE, time TIMESTAMP, local TIMESTAMP_NTZ, delta INTERVAL DAY TO SECOND, money DECIMAL(12, 2), "
              + "huge DECIMAL(38, 10), list ARRAY<INT>, map MAP<STRING, DOUBLE>, inner STRUCT<a: BIGINT, b: ARRAY<STRING>>, nothing VOID");

  private static final int ROWS = 20_000;

  private static byte[] written(StructType schema, List<Row> rows) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Row> writer = RowSink.to(out).as(schema).rows()) {
      for (Row row : rows) {
        writer.write(row);
      }
      writer.end();
    }
    return out.toByteArray();
  }

  private static List<Row> rows(int count) {
    Random random = new Random(20131);
    List<Row> rows = new ArrayList<>();
    for (int n = 0; n < count; n++) {
      Object[] values = new Object[ALL.length()];
      for (int i = 0; i < values.length; i++) {
        values[i] = random.nextInt(16) == 0 ? null : value(ALL.apply(i).dataType(), ALL.apply(i).name(), random);
      }
      rows.add(RowFactory.create(values));
    }
    return rows;
  }

  private static Object value(DataType type, String name, Random random) {
    switch (name) {
      case "few":
        return "text " + random.nextInt(200);
      case "many":
        return "a text of its own " + random.nextLong();
      case "wide":
        return List.of("é", "日本語", "😀", "", "plain").get(random.nextInt(5)) + random.nextInt(3);
      case "bool":
        return random.nextBoolean();
      case "i8":
        return (byte) random.nextInt();
      case "i16":
        return (short) random.nextInt();
      case "i32":
        return random.nextInt() >> random.nextInt(32);
      case "i64":
        return random.nextLong() >> random.nextInt(64);
      case "f32":
        return random.nextFloat();
      case "f64":
        return random.nextGaussian();
      case "bytes":
        return String.valueOf(random.nextInt()).getBytes();
      case "day":
        return LocalDate.ofEpochDay(random.nextInt(100_000));
      case "time":
        return Instant.ofEpochSecond(random.nextInt(), 1000 * random.nextInt(1_000_000));
      case "local":
        return LocalDateTime.of(2020, 1, 1, 0, 0).plusSeconds(random.nextInt());
      case "delta":
        return Duration.ofSeconds(random.nextInt(), 1000 * random.nextInt(1_000_000));
      case "money":
        return BigDecimal.valueOf(random.nextInt(), 2);
      case "huge":
        return new BigDecimal(new java.math.BigInteger(90, random), 10).negate();
      case "list":
        return ScalaNested.list(new Object[] {random.nextInt(), null});
      case "map":
        return ScalaNested.map(new Object[] {"k" + random.nextInt(4)}, new Object[] {random.nextDouble()});
      case "inner":
        return RowFactory.create(random.nextLong(), ScalaNested.list(new Object[] {"x", null, "y"}));
      default:
        return null;
    }
  }

  /** Those whose types are the same in both languages. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "empty", "empty_tuples", "tuples", "nulls", "ints", "texts", "dictionary", "dictionary_grows", "bools", "dates", "datetimes",
        "timedeltas", "decimals", "uuids", "maps", "segments"
      })
  void aVectorIsWrittenAsByPython(String name) throws IOException {
    byte[] data = Vectors.bytes(name);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Object[]> writer = RowSink.to(out).arrays()) {
      for (Object row : Vectors.all(RowSource.of(data).arrays())) {
        writer.write((Object[]) row);
      }
      writer.end();
    }
    assertArrayEquals(data, out.toByteArray());
  }

  /** Rows of which the values stand in testdata/rowcodec/jvm; both languages read what is written of them. */
  private static Object[] row(int n) {
    Map<Object, Object> map = new LinkedHashMap<>();
    map.put((long) n, "a");
    map.put(-1L, n % 2 == 0 ? null : "b");
    return new Object[] {
      n, n % 3 == 0 ? null : n * 1000L, n / 8.0, n / 4f, n % 2 == 0, "text " + n % 3, "é" + n, new byte[] {(byte) n, 0},
      LocalDate.of(2024, 2, 29).minusDays(n), LocalDateTime.of(2021, 6, 1, 12, 30, 15, 250_000), Instant.ofEpochSecond(n, 1000),
      Duration.ofMillis(-n), BigDecimal.valueOf(n, 2), new UUID(n, -1), Arrays.asList(1, null, n), map,
      new Object[] {n, List.of("x")}, null
    };
  }

  private static byte[] vector(Compression compression) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    RowSink sink = RowSink.to(out);
    try (RowWriter<Object[]> writer = (compression == null ? sink : sink.compressed(compression)).arrays()) {
      for (int n = 0; n < 100; n++) {
        writer.write(row(n));
      }
      writer.end();
    }
    return out.toByteArray();
  }

  @Test
  void theVectorWrittenHereIsTheOneThatPythonReads() throws IOException {
    Path path = Vectors.FOLDER.resolve("jvm/arrays.arrows");
    byte[] data = vector(null);
    if (Boolean.getBoolean("headrace.vectors")) { // written anew, to be looked at and committed
      Files.createDirectories(path.getParent());
      Files.write(path, data);
    }
    assertArrayEquals(Files.readAllBytes(path), data);
    List<Object> rows = Vectors.all(RowSource.of(data).arrays());
    List<JsonNode> told = Vectors.rows("jvm/arrays");
    for (int n = 0; n < told.size(); n++) {
      assertTrue(Vectors.isRow(told.get(n), rows.get(n)), told.get(n).toString());
    }
  }

  @ParameterizedTest
  @EnumSource
  void compressedRowsAreTheSame(Compression compression) throws IOException {
    byte[] data = vector(compression);
    assertTrue(data.length < vector(null).length);
    List<Object> rows = Vectors.all(RowSource.of(data).arrays());
    List<JsonNode> told = Vectors.rows("jvm/arrays");
    for (int n = 0; n < told.size(); n++) {
      assertTrue(Vectors.isRow(told.get(n), rows.get(n)));
    }
  }

  @Test
  void rowsOfAllTypesComeBack() throws IOException {
    List<Row> rows = rows(ROWS);
    byte[] data = written(ALL, rows);
    List<Object> found = Vectors.all(RowSource.of(data).as(ALL).rows());
    assertAreEqual(rows, found);
    assertEquals(ALL, ((Row) found.get(0)).schema());
  }

  private static void assertAreEqual(List<Row> rows, List<Object> found) {
    assertEquals(rows.size(), found.size());
    for (int n = 0; n < rows.size(); n++) {
      for (int i = 0; i < ALL.length(); i++) {
        Object value = rows.get(n).get(i);
        Object other = ((Row) found.get(n)).get(i);
        boolean equal = value instanceof byte[] ? Arrays.equals((byte[]) value, (byte[]) other) : Objects.equals(value, other);
        assertTrue(equal, () -> value.getClass() + " " + value + " is read as " + other);
      }
    }
  }

  @Test
  void internalRowsAreWrittenAsTheRowsThatTheyAre() throws IOException {
    byte[] data = written(ALL, rows(ROWS));
    UnsafeProjection projection = UnsafeProjection.create(ALL);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowReader<InternalRow> reader = RowSource.of(data).as(ALL).internalRows();
        RowWriter<InternalRow> writer = RowSink.to(out).as(ALL).internalRows()) {
      while (reader.next()) {
        writer.write(projection.apply(reader.get())); // one row, which changes
      }
      writer.end();
    }
    assertArrayEquals(data, out.toByteArray());
  }

  @Test
  void arraysHaveTheColumnsOfASchema() throws IOException {
    List<Row> rows = rows(3000);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Object[]> writer = RowSink.to(out).as(ALL).arrays()) {
      for (Row row : rows) {
        Object[] values = new Object[row.length()];
        Arrays.setAll(values, row::get);
        writer.write(values);
      }
      writer.end();
    }
    List<Object> found = Vectors.all(RowSource.of(out.toByteArray()).as(ALL).rows());
    assertAreEqual(rows, found);
    assertEquals("_1", ((Row) Vectors.all(RowSource.of(out.toByteArray()).rows()).get(0)).schema().apply(0).name());
  }

  @Test
  void aValueThatDoesNotFitIsNamedAndItsRowIsNotWritten() throws IOException {
    StructType schema = StructType.fromDDL("a STRING, b INT, list ARRAY<STRUCT<x: INT>>");
    Object list = ScalaNested.list(new Object[] {RowFactory.create(1)});
    Object odd = ScalaNested.list(new Object[] {RowFactory.create(1), RowFactory.create("x")});
    for (int before : new int[] {0, 5, 5000}) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try (RowWriter<Row> writer = RowSink.to(out).as(schema).rows()) {
        for (int n = 0; n < before; n++) {
          writer.write(RowFactory.create("t" + n, n, list));
        }
        assertUnfit("row " + before + ", column \"b\": odd (String) is no value of the type INT", writer, "a", "odd", list);
        assertUnfit("row " + before + ", column \"b\": 4294967296 (Long) is no value of the type INT", writer, "a", 1L << 32, list);
        assertUnfit("row " + before + ", column \"a\": 1 (Integer) is no value of the type STRING", writer, 1, 1, null);
        assertUnfit("row " + before + ", column \"list.item.x\": x (String) is no value of the type INT", writer, "a", 1, odd);
        assertUnfit("row " + before + ", column \"a\": a text has a surrogate without the other one of its pair", writer, "\ud800", 1, null);
        assertUnfit("row " + before + " has 1 values, and there are 3 columns", writer, "a");
        writer.write(RowFactory.create("last", 7, list));
        writer.end();
      }
      List<Object> rows = Vectors.all(RowSource.of(out.toByteArray()).as(schema).rows());
      assertEquals(before + 1, rows.size());
      assertEquals(RowFactory.create("last", 7, list), rows.get(before));
    }
  }

  @Test
  void rowsThatWaitForColumnsAreNotLost() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Row> writer = RowSink.to(out).rows()) {
      assertThrows(HeadraceException.class, () -> writer.write(null));
      writer.write(RowFactory.create(1L));
      writer.write(new GenericRowWithSchema(new Object[] {2L}, StructType.fromDDL("a LONG")));
      writer.end();
    }
    List<Object> rows = Vectors.all(RowSource.of(out.toByteArray()).arrays());
    assertEquals(List.of(1L, 2L), rows.stream().map(row -> ((Object[]) row)[0]).toList());
    for (int count : new int[] {10, 1000}) {
      out.reset();
      try (RowWriter<Object[]> writer = RowSink.to(out).arrays()) {
        List<String> unfit = new ArrayList<>();
        for (int n = 0; n <= count; n++) {
          Object value = n == 3 || n == 4 ? "text" : (Object) (long) n;
          boolean last = n == count;
          try {
            if (last) {
              writer.flush();
            } else {
              writer.write(new Object[] {value});
            }
          } catch (HeadraceException error) {
            unfit.add(error.getMessage());
            assertEquals(1, error.getSuppressed().length);
          }
        }
        assertEquals(List.of("row 3, column \"_1\": text (String) is no value of the type BIGINT"), unfit);
        writer.end();
      }
      assertEquals(count - 2, Vectors.all(RowSource.of(out.toByteArray()).arrays()).size());
    }
  }

  private static StructType deep(int levels) {
    DataType type = DataTypes.LongType;
    for (int level = 1; level < levels; level++) {
      type = level % 2 == 0 ? DataTypes.createArrayType(type) : new StructType().add("x", type);
    }
    return new StructType().add("deep", type);
  }

  private static StructType wide(int fields) {
    StructField[] all = new StructField[fields];
    Arrays.setAll(all, n -> DataTypes.createStructField("c" + n, DataTypes.LongType, true));
    return new StructType(all);
  }

  @Test
  void whatNoReaderTakesIsRefused() throws IOException {
    for (StructType schema : List.of(deep(64), wide(65_536))) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try (RowWriter<Row> writer = RowSink.to(out).as(schema).rows()) {
        writer.write(RowFactory.create(new Object[schema.length()]));
        writer.end();
      }
      assertEquals(1, Vectors.all(RowSource.of(out.toByteArray()).arrays()).size());
    }
    for (StructType schema : List.of(deep(65), wide(65_537))) {
      RowSink sink = RowSink.to(new ByteArrayOutputStream()).as(schema);
      assertEquals("UNSUPPORTED", assertThrows(HeadraceException.class, sink::rows).code());
    }
  }

  private static void assertUnfit(String what, RowWriter<Row> writer, Object... values) {
    HeadraceException error = assertThrows(HeadraceException.class, () -> writer.write(RowFactory.create(values)));
    assertEquals("SCHEMA_MISMATCH", error.code());
    assertEquals(what, error.getMessage());
  }

  @Test
  void aStreamThatWasNotEndedIsKnownToBeCutShort() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Object[]> writer = RowSink.to(out).arrays()) {
      writer.write(new Object[] {1});
      writer.flush();
    }
    RowReader<Object> reader = RowSource.of(out.toByteArray()).arrays();
    assertTrue(reader.next());
    assertEquals("BAD_DATA", assertThrows(HeadraceException.class, reader::next).code());
  }

  @Test
  void nothingIsWrittenAfterAFailure() throws IOException {
    OutputStream full =
        new OutputStream() {
          @Override
          public void write(int one) throws IOException {
            throw new IOException("full");
          }
        };
    try (RowWriter<Object[]> writer = RowSink.to(full).arrays()) {
      writer.write(new Object[] {1});
      assertThrows(IOException.class, writer::flush);
      assertThrows(IOException.class, () -> writer.write(new Object[] {1}));
      assertThrows(IOException.class, writer::end);
    }
  }

  @Test
  void writersOfTheSameColumnsDoNotShareThem() throws IOException {
    List<Row> rows = rows(6000);
    ByteArrayOutputStream[] outs = {new ByteArrayOutputStream(), new ByteArrayOutputStream()};
    try (RowWriter<Row> first = RowSink.to(outs[0]).as(ALL).rows(); RowWriter<Row> second = RowSink.to(outs[1]).as(ALL).rows()) {
      for (int n = 0; n < rows.size(); n++) {
        (n % 2 == 0 ? first : second).write(rows.get(n));
      }
      first.end();
      second.end();
    }
    for (int i = 0; i < 2; i++) {
      List<Row> half = new ArrayList<>();
      for (int n = i; n < rows.size(); n += 2) {
        half.add(rows.get(n));
      }
      assertAreEqual(half, Vectors.all(RowSource.of(outs[i].toByteArray()).as(ALL).rows()));
    }
  }

  /** Written out, what a dictionary tells in few bytes may be more than a batch can hold. */
  @Test
  void longTextsThatRepeatDoNotGrowABatchWithoutEnd() throws IOException {
    StructType schema = StructType.fromDDL("text STRING");
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    List<Object> texts = new ArrayList<>();
    try (RowWriter<Row> writer = RowSink.to(out).as(schema).rows()) {
      for (int n = 0; n < 1_200; n++) {
        String text = n / 10 + "x".repeat(150_000);
        texts.add(text);
        writer.write(RowFactory.create(text));
        assertTrue(writer.size() < 100 << 20, () -> writer.size() + " bytes in a batch");
      }
      writer.end();
    }
    List<Object> found = Vectors.all(RowSource.of(out.toByteArray()).arrays());
    assertEquals(texts, found.stream().map(row -> ((Object[]) row)[0]).toList());
  }

  @Test
  void rowsTellTheirSchema() throws IOException {
    StructType schema = StructType.fromDDL("a INT, b STRING");
    Row row = new org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema(new Object[] {1, "x"}, schema);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Row> writer = RowSink.to(out).rows()) {
      writer.write(row);
      writer.end();
    }
    assertEquals(List.of(row), Vectors.all(RowSource.of(out.toByteArray()).as(schema).rows()));
  }

  @Test
  void noRowsAreASchema() throws IOException {
    for (StructType schema : new StructType[] {ALL, new StructType()}) {
      byte[] data = written(schema, List.of());
      RowReader<Object> reader = RowSource.of(data).arrays();
      assertFalse(reader.next());
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Object[]> writer = RowSink.to(out).arrays()) {
      writer.end();
    }
    assertFalse(RowSource.of(out.toByteArray()).arrays().next());
  }
}
