package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads values that tell their own types. */
final class Variant {
  /** How deep values may be nested. */
  private static final int DEPTH = 64;

  private static final int SECOND = 1_000_000;
  private static final long DAY = 86_400L * SECOND;
  private static final long MOST_SHIFT = DAY;
  private static final int LONGEST_DELTA = 999_999_999; // days

  private final ByteBuffer bytes;
  private final long at;
  private final Nested nested;

  /** The n-th value of a column of variants, of all its bytes. */
  static Object read(Column column, int n, Nested nested) throws HeadraceException {
    Slice all = column.bytes;
    int from = column.offset(n);
    Variant variant = new Variant(all.part(from, column.offset(n + 1) - from), nested);
    Object value = variant.value(DEPTH);
    if (variant.bytes.hasRemaining()) {
      throw variant.damage("a value is followed by more bytes");
    }
    return value;
  }

  private Variant(Slice value, Nested nested) {
    this.bytes = ByteBuffer.wrap(value.bytes, value.begin, value.length).slice().order(ByteOrder.LITTLE_ENDIAN);
    this.at = value.at;
    this.nested = nested;
  }

  private HeadraceException damage(String what) {
    return Damage.at(at + bytes.position(), what);
  }

  private HeadraceException unsupported(String what) {
    return Damage.unsupported(at + bytes.position(), what);
  }

  private void need(int count) throws HeadraceException {
    if (count > bytes.remaining()) {
      throw damage("a value ends too early");
    }
  }

  private int int8() throws HeadraceException {
    need(1);
    return bytes.get();
  }

  private int int32() throws HeadraceException {
    need(4);
    return bytes.getInt();
  }

  private long int64() throws HeadraceException {
    need(8);
    return bytes.getLong();
  }

  private int size() throws HeadraceException {
    long size = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      int part = int8();
      size |= (long) (part & 0x7f) << shift;
      if (part >= 0) {
        if (size > bytes.remaining()) { // whatever is counted takes a byte or more
          throw damage("a value has fewer elements than it tells");
        }
        return (int) size;
      }
    }
    throw damage("a size is out of range");
  }

  private byte[] sized() throws HeadraceException {
    byte[] found = new byte[size()];
    bytes.get(found);
    return found;
  }

  private String name() throws HeadraceException {
    byte[] utf8 = sized();
    if (!Texts.isUtf8(utf8, 0, utf8.length)) {
      throw damage("a name is not UTF-8");
    }
    return new String(utf8, StandardCharsets.UTF_8);
  }

  private Object value(int depth) throws HeadraceException {
    if (depth == 0) {
      throw damage("values are nested too deep");
    }
    switch (int8()) {
      case 'N':
        return null;
      case 'T':
        return true;
      case 'F':
        return false;
      case 'i':
        return integer();
      case 'd':
        return Double.longBitsToDouble(int64());
      case 's':
        return text();
      case 'b':
      case 'a':
        return sized();
      case 'D':
        return date();
      case 't':
        return time();
      case 'e':
        return delta();
      case 'm':
        return decimal();
      case 'u':
        need(16);
        return new UUID(Long.reverseBytes(bytes.getLong()), Long.reverseBytes(bytes.getLong()));
      case 'n':
        return scalar();
      case '[':
        return nested.list(values(size(), depth));
      case '(':
        return nested.tuple(values(size(), depth));
      case '{':
        return dict(depth);
      case 'R':
        return record(depth);
      case 'P':
        throw unsupported("a value is pickled, which no rows are read from on the JVM");
      default:
        throw damage("a value is of an unknown kind");
    }
  }

  private Object[] values(int count, int depth) throws HeadraceException {
    List<Object> values = new ArrayList<>(); // a count is not believed before there are so many
    for (int i = 0; i < count; i++) {
      values.add(value(depth - 1));
    }
    return values.toArray();
  }

  private Object integer() throws HeadraceException {
    byte[] lowestFirst = sized();
    byte[] highestFirst = new byte[Math.max(1, lowestFirst.length)];
    for (int i = 0; i < lowestFirst.length; i++) {
      highestFirst[i] = lowestFirst[lowestFirst.length - 1 - i];
    }
    BigInteger found = new BigInteger(highestFirst);
    if (found.bitLength() > 63) {
      return found;
    }
    return found.longValue();
  }

  /** UTF-8, in which a lone surrogate has the three bytes that its code point would have. */
  private String text() throws HeadraceException {
    byte[] utf8 = sized();
    if (Texts.isUtf8(utf8, 0, utf8.length)) {
      return new String(utf8, StandardCharsets.UTF_8);
    }
    StringBuilder text = new StringBuilder(utf8.length);
    int whole = 0; // up to here it is in the text
    for (int n = 0; n < utf8.length; n++) {
      if ((utf8[n] & 0xff) == 0xed && n + 2 < utf8.length && (utf8[n + 1] & 0xff) >= 0xa0) {
        append(utf8, whole, n, text);
        if (!Texts.isInner(utf8[n + 1]) || !Texts.isInner(utf8[n + 2])) {
          throw damage("a text is not UTF-8");
        }
        text.append((char) (0xd000 | (utf8[n + 1] & 0x3f) << 6 | utf8[n + 2] & 0x3f));
        n += 2;
        whole = n + 1;
      }
    }
    append(utf8, whole, utf8.length, text);
    return text.toString();
  }

  private void append(byte[] utf8, int from, int to, StringBuilder text) throws HeadraceException {
    if (!Texts.isUtf8(utf8, from, to)) {
      throw damage("a text is not UTF-8");
    }
    text.append(new String(utf8, from, to - from, StandardCharsets.UTF_8));
  }

  private LocalDate date() throws HeadraceException {
    int day = int32();
    if (day < BatchReader.FIRST_DAY || day > BatchReader.LAST_DAY) {
      throw damage("a date is not in the years 1 to 9999");
    }
    return LocalDate.ofEpochDay(day);
  }

  /** A time with a zone is an instant. */
  private Object time() throws HeadraceException {
    long micros = int64();
    boolean fold = int8() != 0;
    if (micros < BatchReader.FIRST_TIME || micros > BatchReader.LAST_TIME) {
      throw damage("a time is not in the years 1 to 9999");
    }
    switch (int8()) {
      case 'N':
        return Values.local(micros);
      case 'z':
        String key = name();
        return Values.local(micros).toInstant(offset(key, Values.local(micros), fold));
      case 'o':
        return Values.instant(micros - shift());
      case 'n':
        long shift = shift();
        name();
        return Values.instant(micros - shift);
      default:
        throw damage("a zone is of an unknown kind");
    }
  }

  private long shift() throws HeadraceException {
    long shift = int64();
    if (shift <= -MOST_SHIFT || shift >= MOST_SHIFT) {
      throw damage("an offset is out of range");
    }
    return shift;
  }

  private ZoneOffset offset(String key, LocalDateTime time, boolean fold) throws HeadraceException {
    ZoneId zone;
    try {
      zone = ZoneId.of(key);
    } catch (DateTimeException error) {
      throw unsupported("no zone \"" + key + "\" is known here");
    }
    List<ZoneOffset> offsets = zone.getRules().getValidOffsets(time);
    if (!offsets.isEmpty()) {
      return offsets.get(fold ? offsets.size() - 1 : 0);
    }
    ZoneOffsetTransition skipped = zone.getRules().getTransition(time);
    return fold ? skipped.getOffsetAfter() : skipped.getOffsetBefore();
  }

  private Duration delta() throws HeadraceException {
    long days = int32();
    long seconds = int32();
    long micros = int32();
    Duration delta = Duration.ofDays(days).plusSeconds(seconds).plusNanos(1000 * micros);
    if (Math.abs(delta.toDays()) > LONGEST_DELTA) {
      throw damage("a duration is beyond those of Python");
    }
    return delta;
  }

  /** A decimal; a double if it is not a number, or infinite. */
  private Object decimal() throws HeadraceException {
    String text = name();
    String word = text.startsWith("-") ? text.substring(1) : text;
    if (word.equals("Infinity")) {
      return text.equals(word) ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    } else if (word.startsWith("NaN") || word.startsWith("sNaN")) {
      return Double.NaN;
    }
    try {
      return new BigDecimal(text);
    } catch (NumberFormatException error) {
      throw damage("a decimal is no number");
    }
  }

  /** A scalar of numpy. */
  private Object scalar() throws HeadraceException {
    String code = name();
    byte[] raw = sized();
    ByteBuffer number = ByteBuffer.wrap(raw).order(ByteOrder.LITTLE_ENDIAN);
    switch (code + ' ' + raw.length) {
      case "|b1 1":
        return raw[0] != 0;
      case "|i1 1":
        return (long) raw[0];
      case "<i2 2":
        return (long) number.getShort();
      case "<i4 4":
        return (long) number.getInt();
      case "<i8 8":
        return number.getLong();
      case "|u1 1":
        return Byte.toUnsignedLong(raw[0]);
      case "<u2 2":
        return Short.toUnsignedLong(number.getShort());
      case "<u4 4":
        return Integer.toUnsignedLong(number.getInt());
      case "<u8 8":
        return Values.unsigned(number.getLong());
      case "<f2 2":
        return Numbers.ofHalf(number.getShort());
      case "<f4 4":
        return number.getFloat();
      case "<f8 8":
        return number.getDouble();
      default:
        throw damage("a scalar of numpy is of an unknown type");
    }
  }

  private Object dict(int depth) throws HeadraceException {
    int count = size();
    List<Object> keys = new ArrayList<>();
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      keys.add(value(depth - 1));
      values.add(value(depth - 1));
    }
    return nested.map(keys.toArray(), values.toArray());
  }

  private Object record(int depth) throws HeadraceException {
    String kind = name();
    if (!Arrays.asList("namedtuple", "dataclass", "row").contains(kind)) {
      throw damage("a record is of an unknown kind");
    }
    name(); // the class
    int count = size();
    List<StructField> fields = new ArrayList<>();
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      fields.add(new StructField(name(), SparkTypes.ANY, true, Metadata.empty()));
      values.add(value(depth - 1));
    }
    return new GenericRowWithSchema(values.toArray(), new StructType(fields.toArray(new StructField[0])));
  }
}
