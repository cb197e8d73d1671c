package headrace.spark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.spark.HeadraceException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The faces of rows agree with one another, and follow a schema that is asked for. */
class RowSourceTest {
  /** Those whose columns have types. */
  static Stream<String> typed() throws IOException {
    List<String> others = List.of("malformed", "variants", "kinds_of_rows", "rest", "empty");
    List<String> big = Vectors.names("big_endian", ".arrows").map(name -> "big_endian/" + name).toList();
    return Stream.concat(Vectors.names("", ".arrows"), big.stream())
        .filter(name -> !others.contains(name.replace("big_endian/", "")));
  }

  @ParameterizedTest
  @MethodSource("typed")
  void allFacesGiveTheSameRows(String name) throws IOException {
    byte[] data = Vectors.bytes(name);
    List<Object> external = Vectors.all(RowSource.of(data).rows());
    List<Object> arrays = Vectors.all(RowSource.of(data).arrays());
    RowReader<InternalRow> internal = RowSource.of(data).internalRows();
    PartitionReader<ColumnarBatch> batches = RowSource.of(data).batches();
    StructType type = null;
    UnsafeProjection projection = null;
    Iterator<InternalRow> columnar = List.<InternalRow>of().iterator();
    for (int n = 0; n < external.size(); n++) {
      Row row = (Row) external.get(n);
      if (row.schema() != type) { // that of its segment
        type = row.schema();
        projection = UnsafeProjection.create(type);
      }
      Object[] values = (Object[]) arrays.get(n);
      Object[] converted = new Object[values.length];
      for (int i = 0; i < values.length; i++) {
        assertEquals(values[i] == null, row.isNullAt(i));
        converted[i] = InternalValues.of(values[i], row.schema().apply(i).dataType(), name);
      }
      UnsafeRow expected = projection.apply(new GenericInternalRow(converted)).copy();
      assertTrue(internal.next());
      assertEquals(expected, projection.apply(internal.get()));
      while (!columnar.hasNext()) {
        assertTrue(batches.next());
        columnar = batches.get().rowIterator();
      }
      assertEquals(expected, projection.apply(columnar.next()));
    }
    assertTrue(!internal.next() && !columnar.hasNext() && !batches.next());
  }

  private static StructType type(String ddl) {
    return StructType.fromDDL(ddl);
  }

  private static HeadraceException error(RowReader<?> reader) {
    HeadraceException error = assertThrows(HeadraceException.class, () -> Vectors.all(reader));
    assertEquals("SCHEMA_MISMATCH", error.code());
    return error;
  }

  @Test
  void columnsOfNamesAreFoundByThem() throws IOException {
    StructType asked = type("a STRING, b INT");
    List<Object> rows = Vectors.all(RowSource.of(Vectors.bytes("dicts")).as(asked).rows());
    assertEquals(List.of(RowFactory.create("x", 1), RowFactory.create("y", null)), rows);
    assertEquals(List.of(RowFactory.create("x"), RowFactory.create("y")),
        Vectors.all(RowSource.of(Vectors.bytes("dicts")).as(type("a STRING")).rows()));
    String message = error(RowSource.of(Vectors.bytes("dicts")).as(type("a STRING, c INT")).rows()).getMessage();
    assertEquals("rows have no column \"c\", which was asked for", message);
  }

  @Test
  void columnsOfOneNameAreFoundByTheirOrder() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Row> writer = RowSink.to(out).as(type("a BIGINT, b STRING, a STRING")).rows()) {
      writer.write(RowFactory.create(1L, "b", "second"));
      writer.end();
    }
    byte[] data = out.toByteArray();
    assertEquals(List.of(RowFactory.create("b", 1, "second")),
        Vectors.all(RowSource.of(data).as(type("b STRING, a INT, a STRING")).rows()));
    assertEquals(List.of(RowFactory.create("b")), Vectors.all(RowSource.of(data).as(type("b STRING")).rows()));
    assertTrue(error(RowSource.of(data).as(type("a BIGINT")).rows()).getMessage().contains("more columns \"a\""));
    assertTrue(error(RowSource.of(data).as(type("b STRING, b STRING")).rows()).getMessage().contains("fewer columns \"b\""));
  }

  @Test
  void columnsWithoutNamesAreFoundByTheirPlaces() throws IOException {
    StructType asked = type("n SMALLINT, x DOUBLE, text STRING");
    List<Object> rows = Vectors.all(RowSource.of(Vectors.bytes("tuples")).as(asked).rows());
    assertEquals(RowFactory.create((short) 1, 0.5, "a"), rows.get(0));
    assertEquals(asked, ((Row) rows.get(0)).schema());
    String message = error(RowSource.of(Vectors.bytes("tuples")).as(type("n SMALLINT")).rows()).getMessage();
    assertEquals("rows have 3 columns, and 1 were asked for", message);
  }

  @Test
  void aTypeThatDoesNotHoldTheValuesIsRefused() throws IOException {
    byte[] ints = Vectors.bytes("ints");
    StructType narrow = type("a INT, b INT, c INT, d INT, e INT");
    String message = error(RowSource.of(ints).as(narrow).internalRows()).getMessage();
    assertEquals("column \"_5\" has -9223372036854775807 in row 0 of its batch, which is beyond INT: ask for a wider type", message);
    message = error(RowSource.of(ints).as(type("a STRING, b INT, c INT, d INT, e INT")).rows()).getMessage();
    assertEquals("column \"_1\" is of the type BIGINT, and STRING was asked for", message);
  }

  /** Row 40 is ("odd", 1), where the columns are of numbers and texts. */
  @Test
  void rowsThatDoNotFitTheirColumnsMayFitTheSchema() throws IOException {
    byte[] data = Vectors.bytes("rest");
    String what = "row 40, column \"n\": odd (String) is no value of the type BIGINT";
    StructType asked = type("n BIGINT, text STRING");
    assertEquals(what, error(RowSource.of(data).as(asked).rows()).getMessage());
    assertEquals(what, error(RowSource.of(data).as(asked).arrays()).getMessage());
    assertEquals(what, error(RowSource.of(data).as(asked).internalRows()).getMessage());
    PartitionReader<ColumnarBatch> batches = RowSource.of(data).as(asked).batches();
    assertEquals(what, assertThrows(HeadraceException.class, batches::next).getMessage());
    List<Object> rows = Vectors.all(RowSource.of(data).rows());
    assertEquals(RowFactory.create("odd", 1L), rows.get(40));
    assertEquals(RowFactory.create(0L, null), rows.get(41));
  }

  @Test
  void valuesOfSeveralTypesAreReadAsTheOneAskedFor() throws IOException {
    byte[] data = variants();
    StructType asked = type("v STRUCT<a: DOUBLE, b: ARRAY<INT>>");
    Row row = RowFactory.create(0.5, ScalaNested.list(new Object[] {1, null}));
    List<Object> rows = Vectors.all(RowSource.of(data).as(asked).rows());
    assertEquals(List.of(RowFactory.create(row), RowFactory.create((Object) null)), rows);
    PartitionReader<ColumnarBatch> batches = RowSource.of(data).as(asked).batches();
    assertTrue(batches.next());
    InternalRow inner = batches.get().getRow(0).getStruct(0, 2);
    assertEquals(0.5, inner.getDouble(0));
    assertEquals(1, inner.getArray(1).getInt(0));
    assertTrue(batches.get().getRow(1).isNullAt(0));
    String message = error(RowSource.of(data).internalRows()).getMessage();
    assertEquals("column \"_1\" has values of several types: give a schema", message);
    message = error(RowSource.of(data).as(type("v STRING")).rows()).getMessage();
    assertTrue(message.startsWith("row 0 of its batch, column \"_1\": "), message);
  }

  /** A column of variants: {"a": 0.5, "b": [1, None]} and null. */
  private static byte[] variants() throws IOException {
    ByteBuffer value = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
    value.put(new byte[] {'{', 2, 's', 1, 'a', 'd'}).putDouble(0.5).put(new byte[] {'s', 1, 'b', '[', 2, 'i', 1, 1, 'N'});
    byte[] one = Arrays.copyOf(value.array(), value.position());
    BatchWriter batch = new BatchWriter(null);
    batch.node(2, 1);
    batch.buffer(new byte[] {1}, 1);
    ByteBuffer offsets = ByteBuffer.allocate(12).order(ByteOrder.nativeOrder()).putInt(0).putInt(one.length).putInt(one.length);
    batch.buffer(offsets.array(), 12);
    batch.buffer(one, one.length);
    Field field = Field.of("_1", ArrowType.BINARY).with(Field.PY, "variant");
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BatchWriter.writeFramed(out, SchemaWriter.write(new Schema(false, List.of(field), Map.of(Field.PY, "tuple"))));
    batch.writeBatch(out, 2);
    out.write(BatchWriter.END);
    return out.toByteArray();
  }

  @Test
  void aColumnOfNothingButNullsIsOfAnyType() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (RowWriter<Object[]> writer = RowSink.to(out).arrays()) {
      writer.write(new Object[] {1, null});
      writer.end();
    }
    StructType asked = type("n INT, s STRUCT<a: INT, b: ARRAY<STRING>>");
    assertEquals(List.of(RowFactory.create(1, null)), Vectors.all(RowSource.of(out.toByteArray()).as(asked).rows()));
    PartitionReader<ColumnarBatch> batches = RowSource.of(out.toByteArray()).as(asked).batches();
    assertTrue(batches.next() && batches.get().getRow(0).isNullAt(1));
  }

  @Test
  void rowsOutliveTheirBatch() throws IOException {
    List<Object> rows = Vectors.all(RowSource.of(Vectors.bytes("dictionary_grows")).internalRows());
    assertEquals("text 0", ((InternalRow) rows.get(0)).getUTF8String(0).toString());
    assertEquals("text 19", ((InternalRow) rows.get(19_999)).getUTF8String(0).toString());
  }
}
