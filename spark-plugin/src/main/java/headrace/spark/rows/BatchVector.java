package headrace.spark.rows;

import headrace.spark.HeadraceException;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of Spark over a column of a batch, whose buffers it shares. It stays good for as long as it is held: the buffers
 * are on the heap.
 */
final class BatchVector extends ColumnVector {
  private final Column column;
  private final ColumnVector[] children;

  /** Null unless values are places in it. */
  private final Object[] dictionary;

  private final boolean dictionaryHasNulls;

  static ColumnVector of(Column column) throws HeadraceException {
    if (column.field.type.kind == ArrowType.Kind.NULL) {
      ConstantColumnVector nulls = new ConstantColumnVector(column.length, column.type);
      nulls.setNull();
      return nulls;
    }
    return new BatchVector(column);
  }

  private BatchVector(Column column) throws HeadraceException {
    super(column.type);
    this.column = column;
    dictionary = column.dictionary == null ? null : column.dictionary.internal();
    dictionaryHasNulls = column.dictionary != null && column.dictionary.hasNulls();
    Column[] parts = column.field.type.kind == ArrowType.Kind.MAP ? column.children[0].children : column.children;
    children = new ColumnVector[parts.length];
    for (int i = 0; i < parts.length; i++) {
      children[i] = of(parts[i]);
    }
  }

  private Object told(int row) {
    return dictionary[(int) column.integer(row)];
  }

  @Override
  public boolean hasNull() {
    return column.nulls > 0 || dictionaryHasNulls;
  }

  @Override
  public int numNulls() {
    if (!dictionaryHasNulls) {
      return column.nulls;
    }
    int nulls = 0;
    for (int row = 0; row < column.length; row++) {
      nulls += isNullAt(row) ? 1 : 0;
    }
    return nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    return column.isNull(row) || dictionaryHasNulls && told(row) == null;
  }

  @Override
  public boolean getBoolean(int row) {
    return dictionary == null ? column.bit(row) : (Boolean) told(row);
  }

  @Override
  public byte getByte(int row) {
    return (byte) getLong(row);
  }

  @Override
  public short getShort(int row) {
    return (short) getLong(row);
  }

  @Override
  public int getInt(int row) {
    return (int) getLong(row);
  }

  /** Of integers, days and microseconds, whatever room they have on the wire. */
  @Override
  public long getLong(int row) {
    return dictionary == null ? column.integer(row) : ((Number) told(row)).longValue();
  }

  @Override
  public float getFloat(int row) {
    return dictionary == null ? column.floating(row) : (Float) told(row);
  }

  @Override
  public double getDouble(int row) {
    return dictionary == null ? column.real(row) : (Double) told(row);
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (isNullAt(row)) {
      return null;
    }
    if (dictionary != null) {
      return (Decimal) told(row);
    }
    if (column.field.type.kind == ArrowType.Kind.INT) {
      return Decimal.apply(Values.unsigned(column.integer(row)), precision, scale);
    }
    if (((DecimalType) column.type).precision() <= Decimal.MAX_LONG_DIGITS()) {
      return Decimal.createUnsafe(Values.unscaled(column, row).longValue(), precision, scale);
    }
    return InternalValues.decimal(column, row);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    if (dictionary != null) {
      return (UTF8String) told(row);
    }
    if (column.field.type.kind == ArrowType.Kind.FIXED_BINARY) {
      return UTF8String.fromString(Values.uuid(column, row).toString());
    }
    int begin = column.offset(row);
    return UTF8String.fromAddress(column.bytes.bytes, column.bytes.address() + begin, column.offset(row + 1) - begin);
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    return dictionary == null ? Values.binary(column, row) : (byte[]) told(row);
  }

  @Override
  public ColumnarArray getArray(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int begin = column.offset(row);
    return new ColumnarArray(children[0], begin, column.offset(row + 1) - begin);
  }

  @Override
  public ColumnarMap getMap(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int begin = column.offset(row);
    return new ColumnarMap(children[0], children[1], begin, column.offset(row + 1) - begin);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return children[ordinal];
  }

  /** Nothing: the garbage collector takes the buffers. */
  @Override
  public void close() {}
}
