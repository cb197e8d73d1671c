package headrace.spark.rows;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.UUID;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;

/** Floats, decimals and UUIDs: values of one size. */
public final class FixedBuilder extends ColumnBuilder {
  private final int width;
  private final String type;
  private byte[] values = new byte[1024];

  FixedBuilder(Field field, String path, String type) {
    super(field, path);
    this.type = type;
    this.width = field.type.kind == ArrowType.Kind.FLOAT ? field.type.bits / 8 : 16;
  }

  /** Room for the next value; gives its address. */
  private long next() throws Unfit {
    long at = (long) width * length;
    if (at + width > values.length) {
      values = grown(values, at + width);
    }
    length++;
    return Platform.BYTE_ARRAY_OFFSET + at;
  }

  /** Of a column of doubles. */
  public void add(double value) throws Unfit {
    long at = next(); // which may give other values
    Platform.putDouble(values, at, value);
  }

  /** Of a column of floats. */
  public void add(float value) throws Unfit {
    long at = next();
    Platform.putFloat(values, at, value);
  }

  @Override
  void add(Object value) throws Unfit {
    if (value instanceof Double && width == 8) {
      add(((Double) value).doubleValue());
    } else if (value instanceof Float && width == 8) {
      add(((Float) value).doubleValue());
    } else if (value instanceof Float && width == 4) {
      add(((Float) value).floatValue());
    } else if (value instanceof UUID && field.isUuid()) {
      UUID uuid = (UUID) value;
      long at = next();
      Platform.putLong(values, at, Input.BIG_ENDIAN ? uuid.getMostSignificantBits() : Long.reverseBytes(uuid.getMostSignificantBits()));
      Platform.putLong(values, at + 8, Input.BIG_ENDIAN ? uuid.getLeastSignificantBits() : Long.reverseBytes(uuid.getLeastSignificantBits()));
    } else if (value instanceof BigDecimal && field.type.kind == ArrowType.Kind.DECIMAL) {
      add((BigDecimal) value);
    } else if (value instanceof scala.math.BigDecimal && field.type.kind == ArrowType.Kind.DECIMAL) {
      add(((scala.math.BigDecimal) value).bigDecimal());
    } else if (value instanceof Decimal && field.type.kind == ArrowType.Kind.DECIMAL) {
      add(((Decimal) value).toJavaBigDecimal());
    } else {
      throw Unfit.of(path, value, type);
    }
  }

  private void add(BigDecimal value) throws Unfit {
    int scale = field.type.scale;
    // Looked at first: to write out a number of a great exponent would take all memory.
    boolean fits = (long) value.precision() - value.scale() <= field.type.precision - scale || value.signum() == 0;
    if (!fits || value.scale() > scale && value.stripTrailingZeros().scale() > scale) {
      throw Unfit.of(path, value, type);
    }
    BigInteger unscaled = value.signum() == 0 ? BigInteger.ZERO : value.setScale(scale).unscaledValue();
    byte[] highestFirst = unscaled.toByteArray();
    int begin = (int) (next() - Platform.BYTE_ARRAY_OFFSET);
    Arrays.fill(values, begin, begin + 16, (byte) (unscaled.signum() < 0 ? -1 : 0));
    for (int i = 0; i < highestFirst.length; i++) {
      byte one = highestFirst[highestFirst.length - 1 - i];
      values[Input.BIG_ENDIAN ? begin + 15 - i : begin + i] = one;
    }
  }

  @Override
  void addNull() throws Unfit {
    int begin = (int) (next() - Platform.BYTE_ARRAY_OFFSET);
    Arrays.fill(values, begin, begin + width, (byte) 0);
    length--;
  }

  @Override
  void truncateValues(int n) {}

  @Override
  long size() {
    return (long) width * length;
  }

  @Override
  void values(BatchWriter batch) {
    batch.buffer(values, width * length);
  }
}
