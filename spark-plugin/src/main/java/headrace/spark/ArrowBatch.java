package headrace.spark;

import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;

/** Batches that the native part lends, by their addresses: structs in Arrow's C data interface. */
final class ArrowBatch {
  /** Where `struct ArrowArray` has its length and its children. */
  private static final int LENGTH = 0;

  private static final int CHILDREN = 48;

  private ArrowBatch() {}

  static int rows(long batch) {
    return Math.toIntExact(Platform.getLong(null, batch + LENGTH));
  }

  /** The columns, in the order of the schema, in an array of {@code size} that has room for more. */
  static ColumnVector[] columns(long batch, StructType schema, int size) {
    ColumnVector[] columns = new ColumnVector[size];
    long children = Platform.getLong(null, batch + CHILDREN);
    for (int i = 0; i < schema.length(); i++) {
      columns[i] = ArrowVector.of(schema.apply(i).dataType(), Platform.getLong(null, children + 8L * i));
    }
    return columns;
  }
}
