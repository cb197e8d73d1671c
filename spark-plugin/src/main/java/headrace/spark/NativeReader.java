package headrace.spark;

import java.io.IOException;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * One part of a file, read batch by batch by the native part.
 *
 * <p>A batch is freed by the next {@link #next} and by {@link #close}.
 */
final class NativeReader implements AutoCloseable {
  static {
    NativeLibrary.load();
  }

  private final StructType schema;
  private final HadoopFile file;
  private long handle;
  private ArrowBatch batch;

  /**
   * @param request what {@link Request#part} says
   * @param schema the columns that it asks for
   * @param file its bytes, which are closed with this; null of a local file
   * @throws IOException what is there cannot be read
   * @throws UnsupportedOperationException a column cannot be read as the type in {@code schema}
   */
  NativeReader(String request, StructType schema, HadoopFile file) throws IOException {
    this.schema = schema;
    this.file = file;
    try {
      handle = open(request, file);
    } catch (IOException error) {
      throw explained(error, file);
    } finally {
      if (handle == 0) {
        close();
      }
    }
  }

  /** What a file says of its columns, for {@link FileSchema}; {@link Request#file} says which, {@code file} is closed. */
  static String schemaOf(String request, HadoopFile file) throws IOException {
    try (HadoopFile closed = file) {
      return schema(request, file);
    } catch (IOException error) {
      throw explained(error, file);
    }
  }

  /** What the columns of a part are, of which {@link Request#untyped} says which, for {@link Request#file}. */
  static String kindsOf(String request, HadoopFile file) throws IOException {
    try (HadoopFile closed = file) {
      return kinds(request, file);
    } catch (IOException error) {
      throw explained(error, file);
    }
  }

  /** Goes to the next batch; false after the last. */
  synchronized boolean next() throws IOException {
    if (handle == 0) {
      throw new IOException("the reader is closed");
    }
    letGo();
    try {
      long found = next(handle);
      batch = found == 0 ? null : new ArrowBatch(found);
    } catch (IOException error) {
      throw explained(error, file);
    }
    return batch != null;
  }

  int rows() {
    return batch.rows();
  }

  /** The columns of the batch, in the order of the schema, in an array of {@code size} that has room for more. */
  ColumnVector[] columns(int size) {
    return batch.columns(schema, size);
  }

  /** How many row groups of the part are skipped, or how many are not. */
  long groups(boolean skipped) {
    return groups(handle, skipped);
  }

  /** May be called by another thread, and more than once. */
  @Override
  public synchronized void close() throws IOException {
    try {
      letGo();
      if (handle != 0) {
        close(handle);
        handle = 0;
      }
    } finally {
      if (file != null) {
        file.close();
      }
    }
  }

  private void letGo() {
    if (batch != null) {
      batch.free();
      batch = null;
    }
  }

  private static IOException explained(IOException error, HadoopFile file) {
    return file == null ? error : file.explained(error);
  }

  private static native String schema(String request, HadoopFile file) throws IOException;

  private static native String kinds(String request, HadoopFile file) throws IOException;

  private static native long open(String request, HadoopFile file) throws IOException;

  private static native long next(long handle) throws IOException;

  private static native long groups(long handle, boolean skipped);

  private static native void close(long handle);
}
