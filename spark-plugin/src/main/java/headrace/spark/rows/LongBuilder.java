package headrace.spark.rows;

import java.sql.Date;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import org.apache.spark.unsafe.Platform;

/** Integers, as narrow as they may be written; days, and microseconds. */
public final class LongBuilder extends ColumnBuilder {
  private final ArrowType.Kind kind;
  private final String type;

  /** The greatest integer that the type of Spark holds. */
  private final long most;

  /** Microseconds that Python is left of its calendar in every time zone, and with a clock that was turned back a day. */
  private static final long EDGE = 2 * 86_400_000_000L;

  private final long firstTime;
  private final long lastTime;
  private byte[] values = new byte[1024];

  /** The bits that the values need, all of them together, without the sign's. */
  private long bits;

  /** Bytes of a value in the segment that is being written; at least. */
  private int width;

  LongBuilder(Field field, String path, long most, String type) {
    super(field, path);
    this.kind = field.type.kind;
    this.most = most;
    this.type = type;
    long edge = "local".equals(field.told.get(Field.PY)) ? EDGE : 0;
    firstTime = BatchReader.FIRST_TIME + edge;
    lastTime = BatchReader.LAST_TIME - edge;
  }

  public void add(long value) throws Unfit {
    long at = 8L * length;
    if (at + 8 > values.length) {  // whose most is no multiple of 8
      values = grown(values, at + 8);
    }
    Platform.putLong(values, Platform.BYTE_ARRAY_OFFSET + at, value);
    bits |= value ^ value >> 63;
    length++;
  }

  @Override
  void add(Object value) throws Unfit {
    switch (kind) {
      case INT:
        if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
          long number = ((Number) value).longValue();
          if (number <= most && number >= -most - 1) {
            add(number);
            return;
          }
        }
        break;
      case DATE:
        LocalDate date = value instanceof Date ? ((Date) value).toLocalDate() : value instanceof LocalDate ? (LocalDate) value : null;
        if (date != null) {
          addDay(date.toEpochDay(), value);
          return;
        }
        break;
      case DURATION:
        if (value instanceof Duration) {
          Duration duration = (Duration) value;
          try {
            add(Math.addExact(Math.multiplyExact(duration.getSeconds(), 1_000_000L), duration.getNano() / 1000));
          } catch (ArithmeticException error) {
            throw Unfit.of(path, value, type);
          }
          return;
        }
        break;
      default:
        Instant time = value instanceof Timestamp ? ((Timestamp) value).toInstant() : value instanceof Instant ? (Instant) value : null;
        if (field.type.zone == null) {
          time = value instanceof LocalDateTime ? ((LocalDateTime) value).toInstant(ZoneOffset.UTC) : null;
        }
        if (time != null) {
          long second = time.getEpochSecond();
          if (second < BatchReader.FIRST_TIME / 1_000_000 || second > BatchReader.LAST_TIME / 1_000_000) {
            throw beyond(value);
          }
          add(second * 1_000_000 + time.getNano() / 1000);
          return;
        }
    }
    throw Unfit.of(path, value, type);
  }

  @Override
  void addInternal(Object value) throws Unfit {
    if (!(value instanceof Number)) {
      throw Unfit.of(path, value, type);
    }
    addInternal(((Number) value).longValue());
  }

  /** A number as `InternalRow` has it: days, or microseconds, must be of the years 1 to 9999. */
  public void addInternal(long number) throws Unfit {
    if (kind == ArrowType.Kind.DATE) {
      addDay(number, number);
    } else if (kind == ArrowType.Kind.TIMESTAMP && (number < firstTime || number > lastTime)) {
      throw beyond(number);
    } else {
      add(number);
    }
  }

  private void addDay(long day, Object value) throws Unfit {
    if (day < BatchReader.FIRST_DAY || day > BatchReader.LAST_DAY) {
      throw beyond(value);
    }
    add(day);
  }

  private Unfit beyond(Object value) {
    return Unfit.of(path, InternalValues.shortened(value) + " is not in the years 1 to 9999");
  }

  @Override
  void addNull() throws Unfit {
    add(0L);
    length--;
  }

  @Override
  void truncateValues(int n) {}

  @Override
  void clear() {
    super.clear();
    bits = 0;
  }

  @Override
  long size() {
    return 8L * length;
  }

  @Override
  void settle(StringBuilder signature) {
    if (kind == ArrowType.Kind.INT) {
      int needed = 64 - Long.numberOfLeadingZeros(bits);
      width = Math.max(width, needed <= 7 ? 1 : needed <= 15 ? 2 : needed <= 31 ? 4 : 8);
    } else {
      width = kind == ArrowType.Kind.DATE ? 4 : 8;
    }
    signature.append((char) width);
  }

  @Override
  Field written() {
    if (kind != ArrowType.Kind.INT) {
      return field;
    }
    return new Field(field.name, ArrowType.integer(8 * width, true), field.nullable, field.children, field.told, null);
  }

  @Override
  void values(BatchWriter batch) {
    if (width == 8) {
      batch.buffer(values, 8 * length);
      return;
    }
    byte[] narrow = batch.scratch(width * length);
    long to = Platform.BYTE_ARRAY_OFFSET;
    for (int n = 0; n < length; n++, to += width) {
      long value = Platform.getLong(values, Platform.BYTE_ARRAY_OFFSET + 8L * n);
      if (width == 1) {
        Platform.putByte(narrow, to, (byte) value);
      } else if (width == 2) {
        Platform.putShort(narrow, to, (short) value);
      } else {
        Platform.putInt(narrow, to, (int) value);
      }
    }
    batch.buffer(narrow, width * length);
  }
}
