package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.io.IOException;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.RowToColumnConverter;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Batches of a stream as columns of Spark. Where rows do not fit into columns, they are put into others, row by row. */
final class ColumnReader implements PartitionReader<ColumnarBatch> {
  private final Segments segments;
  private ColumnarBatch batch;

  ColumnReader(Segments segments) {
    this.segments = segments;
  }

  @Override
  public boolean next() throws IOException {
    try {
      if (!segments.next()) {
        return false;
      }
      boolean shared = InternalShape.isShared(segments);
      batch = shared ? new ColumnarBatch(InternalShape.vectors(segments), segments.rows()) : copy();
      return true;
    } catch (IOException error) {
      throw segments.failed(error);
    }
  }

  /** The batch that {@code next} went to. */
  @Override
  public ColumnarBatch get() {
    return batch;
  }

  private ColumnarBatch copy() throws HeadraceException {
    OnHeapColumnVector[] vectors = OnHeapColumnVector.allocateColumns(segments.rows(), segments.type());
    RowToColumnConverter converter = new RowToColumnConverter(segments.type());
    for (int n = 0; n < segments.rows(); n++) {
      converter.convert(InternalShape.row(segments, n), vectors);
    }
    return new ColumnarBatch(vectors, segments.rows());
  }

  @Override
  public void close() throws IOException {
    segments.close();
  }
}
