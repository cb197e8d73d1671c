package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Values as `InternalRow` has them. */
final class InternalValues {
  private InternalValues() {}

  /** The n-th value of a column of a dictionary: none of these holds others. */
  static Object get(Column column, int n) throws HeadraceException {
    if (column.isNull(n)) {
      return null;
    }
    switch (column.field.type.kind) {
      case TEXT:
        int begin = column.offset(n);
        return UTF8String.fromAddress(column.bytes.bytes, column.bytes.address() + begin, column.offset(n + 1) - begin);
      case DECIMAL:
        return decimal(column, n);
      case DATE:
        return (int) column.integer(n);
      case TIMESTAMP:
      case DURATION:
        return column.integer(n);
      case FIXED_BINARY:
        if (column.field.isUuid()) {
          return UTF8String.fromString(Values.uuid(column, n).toString());
        }
        return Values.binary(column, n);
      case INT:
        if (column.type instanceof DecimalType) {
          return Decimal.apply(Values.unsigned(column.integer(n)), 20, 0);
        }
        return Values.get(column, n, Nested.JAVA);
      default:
        return Values.get(column, n, Nested.JAVA);
    }
  }

  static Decimal decimal(Column column, int n) {
    DecimalType type = (DecimalType) column.type;
    BigDecimal value = new BigDecimal(Values.unscaled(column, n), column.field.type.scale);
    return Decimal.apply(value, type.precision(), type.scale());
  }

  /**
   * A value as a type has it, of one that tells its own type.
   *
   * <p>Args: {@code where} names row and column.
   */
  static Object of(Object value, DataType type, String where) throws HeadraceException {
    if (value == null) {
      return null;
    }
    Object found = convert(value, type, where);
    if (found == null) {
      throw new HeadraceException(
          "SCHEMA_MISMATCH", where + ": " + shortened(value) + " is no value of the type " + type.sql(), "");
    }
    return found;
  }

  static String shortened(Object value) {
    String text = String.valueOf(value);
    return (text.length() > 80 ? text.substring(0, 80) + "…" : text) + " (" + value.getClass().getSimpleName() + ")";
  }

  /** Null where it does not fit. */
  private static Object convert(Object value, DataType type, String where) throws HeadraceException {
    if (SparkTypes.bits(type) > 0) {
      boolean whole = value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte;
      return whole ? integer(((Number) value).longValue(), type) : null;
    } else if (type instanceof DoubleType) {
      return value instanceof Double || value instanceof Float ? ((Number) value).doubleValue() : null;
    } else if (type instanceof FloatType) {
      return value instanceof Float ? value : null;
    } else if (type instanceof BooleanType) {
      return value instanceof Boolean ? value : null;
    } else if (type instanceof StringType) {
      return value instanceof String || value instanceof UUID ? UTF8String.fromString(value.toString()) : null;
    } else if (type instanceof BinaryType) {
      return value instanceof byte[] ? value : null;
    } else if (type instanceof DateType) {
      return value instanceof LocalDate ? (int) ((LocalDate) value).toEpochDay() : null;
    } else if (type instanceof TimestampType) {
      return value instanceof Instant ? micros((Instant) value) : null;
    } else if (type instanceof TimestampNTZType) {
      return value instanceof LocalDateTime ? micros(((LocalDateTime) value).toInstant(ZoneOffset.UTC)) : null;
    } else if (type instanceof DayTimeIntervalType) {
      return value instanceof Duration ? micros((Duration) value) : null;
    } else if (type instanceof DecimalType) {
      return decimal(value, (DecimalType) type);
    } else if (type instanceof ArrayType) {
      return values(value, (ArrayType) type, where);
    } else if (type instanceof MapType) {
      return map(value, (MapType) type, where);
    } else if (type instanceof StructType) {
      return row(value, (StructType) type, where);
    }
    return null;
  }

  private static Object integer(long value, DataType type) {
    long most = SparkTypes.most(type);
    if (value > most || value < -most - 1) {
      return null;
    } else if (type instanceof IntegerType) {
      return (int) value;
    } else if (type instanceof ShortType) {
      return (short) value;
    } else if (type instanceof ByteType) {
      return (byte) value;
    }
    return value;
  }

  private static Long micros(Instant instant) {
    return instant.getEpochSecond() * 1_000_000 + instant.getNano() / 1000;
  }

  private static Long micros(Duration duration) {
    try {
      return Math.addExact(Math.multiplyExact(duration.getSeconds(), 1_000_000L), duration.getNano() / 1000);
    } catch (ArithmeticException error) {
      return null;
    }
  }

  private static Decimal decimal(Object value, DecimalType type) {
    BigDecimal number;
    if (value instanceof BigDecimal) {
      number = (BigDecimal) value;
    } else if (value instanceof Long) {
      number = BigDecimal.valueOf((Long) value);
    } else if (value instanceof BigInteger) {
      number = new BigDecimal((BigInteger) value);
    } else {
      return null;
    }
    // Looked at first: to write out a number of a great exponent would take all memory.
    if ((long) number.precision() - number.scale() > type.precision() || number.stripTrailingZeros().scale() > type.scale()) {
      return null;
    }
    BigDecimal scaled = number.setScale(type.scale());
    return scaled.precision() > type.precision() ? null : Decimal.apply(scaled, type.precision(), type.scale());
  }

  private static GenericArrayData values(Object value, ArrayType type, String where) throws HeadraceException {
    Object[] values = value instanceof List ? ((List<?>) value).toArray() : value instanceof Object[] ? (Object[]) value : null;
    return values == null ? null : array(values, type.elementType(), where);
  }

  private static GenericArrayData array(Object[] values, DataType type, String where) throws HeadraceException {
    Object[] found = new Object[values.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = of(values[i], type, where);
    }
    return new GenericArrayData(found);
  }

  private static ArrayBasedMapData map(Object value, MapType type, String where) throws HeadraceException {
    if (!(value instanceof Map)) {
      return null;
    }
    Map<?, ?> map = (Map<?, ?>) value;
    if (map.containsKey(null)) {
      return null;
    }
    return new ArrayBasedMapData(
        array(map.keySet().toArray(), type.keyType(), where), array(map.values().toArray(), type.valueType(), where));
  }

  private static InternalRow row(Object value, StructType type, String where) throws HeadraceException {
    Object[] values = values(value, type);
    if (values == null) {
      return null;
    }
    for (int i = 0; i < values.length; i++) {
      values[i] = of(values[i], type.apply(i).dataType(), where + ", field \"" + type.apply(i).name() + "\"");
    }
    return new GenericInternalRow(values);
  }

  /** The values of a row, an array, or a map from names; null where it has other fields than the type. */
  static Object[] values(Object value, StructType type) {
    Object[] values;
    String[] names = type.fieldNames();
    if (value instanceof Row && Arrays.equals(((Row) value).schema().fieldNames(), names)) {
      values = new Object[names.length];
      Arrays.setAll(values, i -> ((Row) value).get(i));
    } else if (value instanceof List) {
      values = ((List<?>) value).toArray();
    } else if (value instanceof Object[]) {
      values = ((Object[]) value).clone();
    } else if (value instanceof Map && new ArrayList<Object>(((Map<?, ?>) value).keySet()).equals(List.of(names))) {
      values = ((Map<?, ?>) value).values().toArray();
    } else {
      return null;
    }
    return values.length == names.length ? values : null;
  }
}
