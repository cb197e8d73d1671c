package headrace.spark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import headrace.spark.HeadraceException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
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
}
