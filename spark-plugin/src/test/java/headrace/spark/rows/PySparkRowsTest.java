package headrace.spark.rows;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Rows as PySpark has them. */
class PySparkRowsTest {
  private static final StructType TIMES =
      StructType.fromDDL("at TIMESTAMP, local TIMESTAMP_NTZ, bytes BINARY, in STRUCT<at: TIMESTAMP, list: ARRAY<BINARY>>");

  private static Schema schema(byte[] data) throws IOException {
    Segments segments = new Segments(new Input(new ByteArrayInputStream(data)), null);
    segments.next();
    return segments.schema();
  }

  private static Schema written(boolean tuples, boolean bytearrays) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    RowSink sink = RowSink.to(out).as(TIMES).asPySpark(bytearrays);
    try (RowWriter<InternalRow> writer = (tuples ? sink.asTuples() : sink).internalRows()) {
      writer.write(new GenericInternalRow(new Object[] {1L, 2L, new byte[] {3}, null}));
      writer.end();
    }
    return schema(out.toByteArray());
  }

  @Test
  void timesAreThoseOfTheReadersClock() throws IOException {
    Schema schema = written(false, true);
    assertEquals("row", schema.told.get(Field.PY));
    List<Field> fields = schema.fields;
    assertEquals(List.of("at", "local", "bytes", "in"), fields.stream().map(field -> field.name).toList());
    assertEquals("local", fields.get(0).py());
    assertEquals(null, fields.get(1).py());
    assertEquals("bytearray", fields.get(2).py());
    assertEquals("row", fields.get(3).py());
    assertEquals("local", fields.get(3).children.get(0).py());
    assertEquals("bytearray", fields.get(3).children.get(1).children.get(0).py());
  }

  @Test
  void tuplesHavePlacesForNames() throws IOException {
    Schema schema = written(true, false);
    assertEquals("tuple", schema.told.get(Field.PY));
    assertEquals(List.of("_1", "_2", "_3", "_4"), schema.fields.stream().map(field -> field.name).toList());
    assertEquals(null, schema.fields.get(2).py());
  }

  private static List<Object> values(StructType type, Object... row) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Object[]> writer = RowSink.to(out).as(type).arrays()) {
      writer.write(row);
      writer.end();
    }
    List<Object> found = new ArrayList<>();
    try (RowReader<Object> reader = RowSource.of(out.toByteArray()).values()) {
      while (reader.next()) {
        found.add(reader.get());
      }
    }
    return found;
  }

  @Test
  void integersAreAsNarrowAsPicklesHaveThem() throws IOException {
    StructType type = StructType.fromDDL("a BIGINT, b BIGINT, c ARRAY<BIGINT>, d MAP<STRING, BIGINT>, e DOUBLE");
    List<Long> list = new ArrayList<>(List.of(1L, 1L << 40));
    Object[] row = (Object[]) values(type, 5L, -1L << 32, list, Map.of("k", 7L), 1.0).get(0);
    assertArrayEquals(new Object[] {5, -1L << 32, List.of(1, 1L << 40), Map.of("k", 7), 1.0}, row);
  }
}
