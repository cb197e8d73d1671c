package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Writes rows as segments, until {@code end} is called. A new one begins where the rows that follow need wider integers, or no dictionary any more. */
public final class RowWriter<T> implements Closeable {
  /** Rows of a batch. */
  static final int BATCH = 16_384;

  /** A batch is written when it has so many bytes; after so many rows it is looked at how many there are. */
  private static final long BATCH_BYTES = 32 << 20;

  private static final int LOOK = 256;

  /** Rows that tell the types of columns where no schema does. */
  private static final int SAMPLE = 256;

  private final OutputStream out;
  private final Class<?> kind;
  private final BatchWriter batches;

  /** Whether columns have the names of places. */
  private final boolean tuples;

  /** What is told of a column besides. */
  private final UnaryOperator<Field> marked;

  /** Rows that came before the columns were known; null since then. */
  private List<T> first = new ArrayList<>();

  private ColumnBuilder[] columns;
  private RowTakers takers;
  private RowTaker taker;

  /** Rows that were taken since a class was asked for. */
  private int plain;

  private boolean generated;

  /** Of the batch. */
  private int rows;

  private long before;

  /** What the schema of the open segment depends on; null if none is open. */
  private String signature;

  /** Whether the stream was ended, or part of a batch may have been written: nothing can follow. */
  private boolean broken;

  RowWriter(
      OutputStream out,
      Class<?> kind,
      StructType schema,
      Compression compression,
      boolean tuples,
      UnaryOperator<Field> marked)
      throws HeadraceException {
    this.out = out;
    this.kind = kind;
    this.tuples = tuples;
    this.marked = marked;
    this.batches = new BatchWriter(compression);
    if (schema != null) {
      begin(schema);
    }
  }

  private void begin(StructType schema) throws HeadraceException {
    List<Field> fields = new ArrayList<>();
    for (int i = 0; i < schema.length(); i++) {
      String name = schema.apply(i).name();
      fields.add(marked.apply(SparkTypes.field(tuples ? "_" + (i + 1) : name, schema.apply(i).dataType(), name)));
    }
    begin(fields, schema);
  }

  private void begin(List<Field> fields, StructType types) throws HeadraceException {
    Schema.admit(fields);
    columns = new ColumnBuilder[fields.size()];
    DataType[] of = new DataType[columns.length];
    for (int i = 0; i < columns.length; i++) {
      of[i] = types.apply(i).dataType();
      columns[i] = Builders.of(fields.get(i), of[i], types.apply(i).name(), true);
    }
    first = null;
    takers = new RowTakers(kind, columns, of);
    taker = takers.get(0);
    generated = taker != null;
    if (!generated) {
      taker = takers.plain();
    }
  }

  /** Add a row, which may be changed afterwards, unless it was given without a schema. One that does not fit is an error. */
  public void write(T row) throws IOException {
    if (broken) {
      throw ended();
    }
    if (first == null) {
      take(row);
      return;
    }
    if (row == null) {
      throw new HeadraceException("SCHEMA_MISMATCH", "row " + first.size() + " is null", "");
    }
    first.add(row);
    if (kind == Row.class && ((Row) row).schema() != null) {
      List<T> waiting = first;
      begin(((Row) row).schema());
      takeAll(waiting);
    } else if (first.size() == SAMPLE) {
      infer();
    }
  }

  /** Take each row that fits; of those that do not, the first one's error tells of the others. */
  private void takeAll(List<T> waiting) throws IOException {
    HeadraceException unfit = null;
    for (T row : waiting) {
      try {
        take(row);
      } catch (HeadraceException error) {
        if (broken) {
          throw error;
        } else if (unfit == null) {
          unfit = error;
        } else {
          unfit.addSuppressed(error);
        }
      }
    }
    if (unfit != null) {
      throw unfit;
    }
  }

  private static IOException ended() {
    return new IOException("the stream was ended, or could not be written");
  }

  /** Find columns for the first rows, and write these. */
  private void infer() throws IOException {
    List<T> waiting = first;
    List<Object[]> sample = new ArrayList<>();
    for (T row : waiting) {
      sample.add(kind == Row.class ? values((Row) row) : (Object[]) row);
    }
    List<Field> fields = Inferred.columns(sample);
    begin(fields, SparkTypes.of(fields));
    takeAll(waiting);
  }

  private static Object[] values(Row row) {
    Object[] values = new Object[row.length()];
    java.util.Arrays.setAll(values, row::get);
    return values;
  }

  private void take(T row) throws IOException {
    try {
      try {
        push(row);
      } catch (Unfit error) {
        if (!error.full || rows == 0) {
          throw error;
        }
        flush(); // into the next batch
        push(row);
      }
    } catch (Unfit error) {
      throw new HeadraceException("SCHEMA_MISMATCH", "row " + (before + rows) + ", " + error.getMessage(), "");
    }
    rows++;
    if (rows == BATCH || rows % LOOK == 0 && size() > BATCH_BYTES) {
      flush();
    }
    if (!generated && ++plain == LOOK) {
      RowTaker found = takers.get(plain);
      plain = 0;
      generated = found != null;
      taker = generated ? found : taker;
    }
  }

  private void push(T row) throws Unfit, HeadraceException {
    int length = row == null ? -1 : kind == Row.class ? ((Row) row).length()
        : kind == InternalRow.class ? ((InternalRow) row).numFields() : ((Object[]) row).length;
    if (length != columns.length) {
      String has = row == null ? " is null" : " has " + length + " values";
      throw new HeadraceException(
          "SCHEMA_MISMATCH", "row " + (before + rows) + has + ", and there are " + columns.length + " columns", "");
    }
    boolean whole = false;
    try {
      taker.take(row);
      whole = true;
    } finally {
      for (int i = 0; !whole && i < columns.length; i++) {
        columns[i].truncate(rows);
      }
    }
  }

  /** Bytes of the rows that wait to be written, about. */
  public long size() {
    long size = 0;
    for (ColumnBuilder column : columns) {
      size += column.size();
    }
    return size;
  }

  /** Write the rows that were added. */
  public void flush() throws IOException {
    if (first != null && !first.isEmpty()) {
      infer();
    }
    if (broken) {
      throw ended();
    }
    if (rows == 0) {
      return;
    }
    broken = true;
    open();
    for (ColumnBuilder column : columns) {
      List<Coded> found = new ArrayList<>();
      column.dictionaries(each -> found.add(each.coded()));
      for (Coded coded : found) {
        tell(coded);
      }
    }
    for (ColumnBuilder column : columns) {
      column.arrays(batches);
    }
    batches.writeBatch(out, rows);
    for (ColumnBuilder column : columns) {
      column.clear();
    }
    before += rows;
    rows = 0;
    broken = false;
  }

  /** Write the texts of a dictionary that are new. */
  private void tell(Coded coded) throws IOException {
    if (coded.sent == coded.size()) {
      return;
    }
    coded.told(batches);
    batches.writeDictionary(out, coded.size() - Math.max(0, coded.sent), coded.id, coded.sent >= 0);
    coded.sent = coded.size();
  }

  /** Begin a segment where the open one has another schema. */
  private void open() throws IOException {
    StringBuilder settled = new StringBuilder();
    for (ColumnBuilder column : columns) {
      column.settle(settled);
    }
    if (settled.toString().equals(signature)) {
      return;
    }
    if (signature != null) {
      out.write(BatchWriter.END);
    }
    signature = settled.toString();
    long[] ids = {0};
    List<Field> fields = new ArrayList<>();
    for (ColumnBuilder column : columns) {
      column.dictionaries(
          each -> {
            each.coded().sent = -1;
            each.coded().id = ids[0]++;
          });
      fields.add(column.written());
    }
    Map<String, String> told = new LinkedHashMap<>();
    told.put(Schema.VERSION, "1");
    told.put(Field.PY, tuples ? "tuple" : "row");
    BatchWriter.writeFramed(out, SchemaWriter.write(new Schema(Input.BIG_ENDIAN, fields, told)));
  }

  /** Write the rows that were added, and end the stream, which has the columns also where no row was added. */
  public void end() throws IOException {
    flush();
    if (first != null) {
      begin(new StructType());
    }
    broken = true;
    if (signature == null) {
      open();
    }
    out.write(BatchWriter.END);
    out.flush();
    if (!generated) {
      takers.get(plain);
    }
  }

  /** Close the stream. One that was not ended is known to be cut short by whoever reads it. */
  @Override
  public void close() throws IOException {
    out.close();
  }
}
