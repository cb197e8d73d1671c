package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/** Values as `Object[]` and `Row` have them. */
final class Values {
  private static final ArrowType ANY_WIDTH = ArrowType.integer(64, true);
  private static final long SECOND = 1_000_000;

  private Values() {}

  /** The n-th value of a column. */
  static Object get(Column column, int n, Nested nested) throws HeadraceException {
    if (column.isNull(n)) {
      return null;
    }
    if (column.dictionary != null) {
      return column.dictionary.values()[(int) column.integer(n)];
    }
    switch (column.field.type.kind) {
      case NULL:
        return null;
      case BOOL:
        return column.bit(n);
      case INT:
        return integer(column.integer(n), column.type, column.field.type);
      case FLOAT:
        if (column.type instanceof DoubleType) {
          return column.real(n);
        }
        return column.floating(n);
      case TEXT:
        Slice bytes = column.bytes;
        return text(column.ascii, bytes.bytes, bytes.begin + column.offset(n), bytes.begin + column.offset(n + 1));
      case BINARY:
        if (column.field.isVariant()) {
          return of(Variant.read(column, n, column.type.equals(SparkTypes.ANY) ? nested : Nested.JAVA), column.type, nested, "row " + n + " of its batch, column \"" + column.field.name + '"');
        }
        return binary(column, n);
      case FIXED_BINARY:
        return column.field.isUuid() ? nested.uuid(uuid(column, n)) : binary(column, n);
      case DECIMAL:
        return new BigDecimal(unscaled(column, n), column.field.type.scale);
      case DATE:
        return LocalDate.ofEpochDay(column.integer(n));
      case TIMESTAMP:
        long micros = column.integer(n);
        return column.field.type.zone == null ? local(micros) : instant(micros);
      case DURATION:
        return Duration.of(column.integer(n), ChronoUnit.MICROS);
      case LIST:
      case FIXED_LIST:
        return nested.list(values(column.children[0], column.offset(n), column.offset(n + 1), nested));
      case MAP:
        Column[] entry = column.children[0].children;
        int from = column.offset(n);
        int to = column.offset(n + 1);
        return nested.map(values(entry[0], from, to, nested), values(entry[1], from, to, nested));
      case STRUCT:
        Object[] values = new Object[column.children.length];
        for (int i = 0; i < values.length; i++) {
          values[i] = get(column.children[i], n, nested);
        }
        return new GenericRowWithSchema(values, (StructType) column.type);
      default:
        throw new IllegalStateException(column.field.type.kind.name());
    }
  }

  /** A value that told its own type, by a type; as it is where none was asked for. */
  static Object of(Object value, DataType type, Nested nested, String where) throws HeadraceException {
    if (value == null || type.equals(SparkTypes.ANY)) {
      return value;
    }
    InternalValues.of(value, type, where); // does it fit?
    return typed(value, type, nested);
  }

  private static Object typed(Object value, DataType type, Nested nested) {
    if (value instanceof Long) {
      return type instanceof DecimalType ? decimal(BigDecimal.valueOf((Long) value), type) : integer((Long) value, type, ANY_WIDTH);
    } else if (value instanceof BigInteger) {
      return decimal(new BigDecimal((BigInteger) value), type);
    } else if (value instanceof BigDecimal) {
      return decimal((BigDecimal) value, type);
    } else if (value instanceof Float && type instanceof DoubleType) {
      return ((Float) value).doubleValue();
    } else if (value instanceof UUID) {
      return value.toString();
    } else if (type instanceof ArrayType) {
      Object[] values = value instanceof List ? ((List<?>) value).toArray() : ((Object[]) value).clone();
      return nested.list(typed(values, ((ArrayType) type).elementType(), nested));
    } else if (type instanceof MapType) {
      Map<?, ?> map = (Map<?, ?>) value;
      Object[] keys = typed(map.keySet().toArray(), ((MapType) type).keyType(), nested);
      return nested.map(keys, typed(map.values().toArray(), ((MapType) type).valueType(), nested));
    } else if (type instanceof StructType) {
      Object[] values = InternalValues.values(value, (StructType) type);
      for (int i = 0; i < values.length; i++) {
        values[i] = typed(values[i], ((StructType) type).apply(i).dataType(), nested);
      }
      return new GenericRowWithSchema(values, (StructType) type);
    }
    return value;
  }

  private static Object[] typed(Object[] values, DataType type, Nested nested) {
    for (int i = 0; i < values.length; i++) {
      values[i] = typed(values[i], type, nested);
    }
    return values;
  }

  private static BigDecimal decimal(BigDecimal value, DataType type) {
    return value.setScale(((DecimalType) type).scale());
  }

  private static Object[] values(Column column, int from, int to, Nested nested) throws HeadraceException {
    Object[] values = new Object[to - from];
    for (int i = 0; i < values.length; i++) {
      values[i] = get(column, from + i, nested);
    }
    return values;
  }

  private static Object integer(long value, DataType type, ArrowType stored) {
    if (type instanceof IntegerType) {
      return (int) value;
    } else if (type instanceof ShortType) {
      return (short) value;
    } else if (type instanceof ByteType) {
      return (byte) value;
    } else if (stored.bits == 64 && !stored.signed) {
      return unsigned(value);
    }
    return value;
  }

  static BigDecimal unsigned(long value) {
    return new BigDecimal(new BigInteger(Long.toUnsignedString(value)));
  }

  /** Args: the bytes are UTF-8, and if it says so, of ASCII. */
  @SuppressWarnings("deprecation") // nothing else takes bytes of ASCII without a look at them
  static String text(boolean ascii, byte[] bytes, int from, int to) {
    return ascii ? new String(bytes, 0, from, to - from) : new String(bytes, from, to - from, StandardCharsets.UTF_8);
  }

  static byte[] binary(Column column, int n) {
    Slice bytes = column.bytes;
    if (column.field.type.kind == ArrowType.Kind.FIXED_BINARY) {
      int begin = column.values.begin + column.width * n;
      return Arrays.copyOfRange(column.values.bytes, begin, begin + column.width);
    }
    return Arrays.copyOfRange(bytes.bytes, bytes.begin + column.offset(n), bytes.begin + column.offset(n + 1));
  }

  static UUID uuid(Column column, int n) {
    long at = column.values.address() + 16L * n;
    long high = Platform.getLong(column.values.bytes, at);
    long low = Platform.getLong(column.values.bytes, at + 8);
    return Input.BIG_ENDIAN ? new UUID(high, low) : new UUID(Long.reverseBytes(high), Long.reverseBytes(low));
  }

  static BigInteger unscaled(Column column, int n) {
    long at = column.values.address() + 16L * n;
    long low = Platform.getLong(column.values.bytes, at + (Input.BIG_ENDIAN ? 8 : 0));
    long high = Platform.getLong(column.values.bytes, at + (Input.BIG_ENDIAN ? 0 : 8));
    return high == low >> 63 ? BigInteger.valueOf(low) : Numbers.wide(column.values.bytes, at);
  }

  /** Args: {@code micros} are those of a clock on the wall, since 1970. */
  static LocalDateTime local(long micros) {
    int nanos = (int) Math.floorMod(micros, SECOND) * 1000;
    return LocalDateTime.ofEpochSecond(Math.floorDiv(micros, SECOND), nanos, ZoneOffset.UTC);
  }

  static Instant instant(long micros) {
    return Instant.ofEpochSecond(Math.floorDiv(micros, SECOND), Math.floorMod(micros, SECOND) * 1000);
  }
}
