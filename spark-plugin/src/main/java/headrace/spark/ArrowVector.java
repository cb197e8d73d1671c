package headrace.spark;

import java.math.BigInteger;
import org.apache.spark.sql.execution.vectorized.ConstantColumnVector;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of Spark over the buffers of an Arrow array, which are read where they lie, by address.
 *
 * <p>The array is one of Arrow's C data interface, in the machine's byte order, of the type that `schema.rs` gives
 * for the type of Spark. The vector is good until its batch is freed, and holds it until then.
 */
final class ArrowVector extends ColumnVector {
  // Where `struct ArrowArray` has its members.
  private static final int NULL_COUNT = 8;
  private static final int OFFSET = 16;
  private static final int BUFFERS = 40;
  private static final int CHILDREN = 48;

  private static final int DECIMAL_BYTES = 16;

  private final ArrowBatch batch;

  private final int nulls;

  /** Rows that the buffers have before the first of this column. */
  private final int offset;

  private final long validity;

  /** Of the values; of the offsets, where values differ in length. */
  private final long values;

  /** Of the bytes that the offsets point into. */
  private final long bytes;

  private final ColumnVector[] children;

  /** A column of a type over an array of a batch. */
  static ColumnVector of(DataType type, long array, ArrowBatch batch) {
    if (type instanceof UserDefinedType) {
      return of(((UserDefinedType<?>) type).sqlType(), array, batch);
    }
    if (type instanceof NullType) { // has no buffers
      ConstantColumnVector nulls = new ConstantColumnVector(Math.toIntExact(Platform.getLong(null, array)), type);
      nulls.setNull();
      return nulls;
    }
    return new ArrowVector(type, array, batch);
  }

  private ArrowVector(DataType type, long array, ArrowBatch batch) {
    super(type);
    this.batch = batch;
    long buffers = Platform.getLong(null, array + BUFFERS);
    nulls = Math.toIntExact(Platform.getLong(null, array + NULL_COUNT));
    offset = Math.toIntExact(Platform.getLong(null, array + OFFSET));
    validity = Platform.getLong(null, buffers);
    values = type instanceof StructType || isVariant(type) ? 0 : Platform.getLong(null, buffers + 8);
    bytes = type instanceof StringType || type instanceof BinaryType ? Platform.getLong(null, buffers + 16) : 0;
    children = children(type, array, batch);
  }

  /** By its name, as Spark 3.5 has no such type. */
  private static boolean isVariant(DataType type) {
    return type.typeName().equals("variant");
  }

  private static ColumnVector[] children(DataType type, long array, ArrowBatch batch) {
    if (isVariant(type)) { // its value, and its metadata
      return new ColumnVector[] {of(DataTypes.BinaryType, child(array, 0), batch), of(DataTypes.BinaryType, child(array, 1), batch)};
    }
    if (type instanceof StructType) {
      StructType struct = (StructType) type;
      ColumnVector[] fields = new ColumnVector[struct.length()];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = of(struct.apply(i).dataType(), child(array, i), batch);
      }
      return fields;
    }
    if (type instanceof ArrayType) {
      return new ColumnVector[] {of(((ArrayType) type).elementType(), child(array, 0), batch)};
    }
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      long entries = child(array, 0);
      return new ColumnVector[] {of(map.keyType(), child(entries, 0), batch), of(map.valueType(), child(entries, 1), batch)};
    }
    return new ColumnVector[0];
  }

  private static long child(long array, int index) {
    return Platform.getLong(null, Platform.getLong(null, array + CHILDREN) + 8L * index);
  }

  @Override
  public boolean hasNull() {
    return nulls > 0;
  }

  @Override
  public int numNulls() {
    return nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    return nulls > 0 && !bit(validity, row);
  }

  @Override
  public boolean getBoolean(int row) {
    return bit(values, row);
  }

  @Override
  public byte getByte(int row) {
    return Platform.getByte(null, values + offset + row);
  }

  @Override
  public short getShort(int row) {
    return Platform.getShort(null, values + 2L * (offset + row));
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(null, values + 4L * (offset + row));
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(null, values + 8L * (offset + row));
  }

  @Override
  public float getFloat(int row) {
    return Platform.getFloat(null, values + 4L * (offset + row));
  }

  @Override
  public double getDouble(int row) {
    return Platform.getDouble(null, values + 8L * (offset + row));
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (isNullAt(row)) {
      return null;
    }
    long address = values + (long) DECIMAL_BYTES * (offset + row);
    if (precision <= Decimal.MAX_LONG_DIGITS()) {
      return Decimal.createUnsafe(Platform.getLong(null, address), precision, scale);
    }
    byte[] digits = new byte[DECIMAL_BYTES]; // the highest first
    for (int i = 0; i < DECIMAL_BYTES; i++) {
      digits[i] = Platform.getByte(null, address + DECIMAL_BYTES - 1 - i);
    }
    return Decimal.apply(new java.math.BigDecimal(new BigInteger(digits), scale), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int begin = begin(row);
    return UTF8String.fromAddress(null, bytes + begin, begin(row + 1) - begin);
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int begin = begin(row);
    byte[] copy = new byte[begin(row + 1) - begin];
    Platform.copyMemory(null, bytes + begin, copy, Platform.BYTE_ARRAY_OFFSET, copy.length);
    return copy;
  }

  @Override
  public ColumnarArray getArray(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int begin = begin(row);
    return new ColumnarArray(children[0], begin, begin(row + 1) - begin);
  }

  @Override
  public ColumnarMap getMap(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int begin = begin(row);
    return new ColumnarMap(children[0], children[1], begin, begin(row + 1) - begin);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return children[ordinal];
  }

  /** Nothing: the reader ends its batches. */
  @Override
  public void close() {}

  /** Where the value of a row begins, and that of the row before ends. */
  private int begin(int row) {
    return Platform.getInt(null, values + 4L * (offset + row));
  }

  private boolean bit(long bits, int row) {
    int at = offset + row;
    return (Platform.getByte(null, bits + (at >> 3)) >> (at & 7) & 1) != 0;
  }
}
