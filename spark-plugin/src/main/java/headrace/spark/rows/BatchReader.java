package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.Platform;

/**
 * Reads the columns of a batch one after the other, and checks all that later is relied on: sizes, offsets, indices, texts,
 * and that values are in the ranges of their types.
 */
final class BatchReader {
  /** Values without a buffer take no room on the wire: so many of them may be in one array. */
  static final int MOST_WITHOUT_BUFFER = 1 << 20;

  /** How many of them may be in one batch: rows of them take room once they are made. */
  private static final long MOST_UNBACKED = 1 << 26;

  /** What one buffer may hold: offsets have 32 bits. */
  private static final long MOST_BYTES = Integer.MAX_VALUE;

  private static final long MOST_VALUES = Integer.MAX_VALUE;

  /** Microseconds of the first moment of year 1, and of the last of 9999: what Python, and Spark, know of. */
  static final long FIRST_TIME = -62_135_596_800_000_000L;

  static final long LAST_TIME = 253_402_300_799_999_999L;
  static final int FIRST_DAY = -719_162;
  static final int LAST_DAY = 2_932_896;

  private final BatchHead head;
  private final boolean turned;
  private final Map<Long, Dictionary> dictionaries;
  private long unbacked;

  /**
   * Args: {@code types} are those of the fields; {@code dictionaries} are those that were read so far, by their ids.
   */
  static Column[] read(
      BatchHead head, List<Field> fields, DataType[] types, boolean bigEndian, Map<Long, Dictionary> dictionaries)
      throws HeadraceException {
    BatchReader reader = new BatchReader(head, bigEndian, dictionaries);
    long rows = head.rows();
    if (fields.isEmpty() && rows > MOST_WITHOUT_BUFFER) {
      throw head.damage("a batch without columns has too many rows");
    }
    Column[] columns = new Column[fields.size()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = reader.column(fields.get(i), types[i], rows);
    }
    head.end();
    return columns;
  }

  private BatchReader(BatchHead head, boolean bigEndian, Map<Long, Dictionary> dictionaries) {
    this.head = head;
    this.turned = bigEndian != Input.BIG_ENDIAN;
    this.dictionaries = dictionaries;
  }

  /** Args: {@code length} is what it must be, where its parent tells; else -1. */
  private Column column(Field field, DataType type, long length) throws HeadraceException {
    head.nextArray();
    long found = head.values();
    if (length >= 0 && found != length || found > MOST_VALUES) {
      throw damage(field, "has another number of values than its parent");
    }
    Column column = new Column(field, type, (int) found);
    if (field.type.kind == ArrowType.Kind.NULL && field.coding == null) {
      bounded(field, found);
      column.nulls = column.length;
      return column;
    }
    validity(column, head.nulls());
    if (field.coding != null) {
      indices(column);
    } else {
      data(column);
    }
    return column;
  }

  private void validity(Column column, long nulls) throws HeadraceException {
    int needed = bytesOfBits(column.length);
    Slice validity = head.nextBuffer(needed);
    if (nulls == 0) {
      return;
    }
    if (validity.length < needed) {
      throw damage(column.field, "has nulls, and does not tell which");
    }
    column.validity = validity;
    int there = 0;
    for (int n = 0; n < column.length / 8; n++) {
      there += Integer.bitCount(validity.bytes[validity.begin + n] & 0xff);
    }
    if (column.length % 8 != 0) {
      int last = validity.bytes[validity.begin + column.length / 8];
      there += Integer.bitCount(last & (1 << column.length % 8) - 1);
    }
    column.nulls = column.length - there;
  }

  private static int bytesOfBits(int bits) {
    return (int) ((bits + 7L) / 8);
  }

  private void indices(Column column) throws HeadraceException {
    Field field = column.field;
    column.dictionary = dictionaries.get(field.coding.id);
    column.dictionarySize = column.dictionary == null ? 0 : column.dictionary.size();
    fixed(column, field.coding.bits / 8, field.coding.bits / 8);
    for (int n = 0; n < column.length; n++) {
      // An index below zero is a large one, too.
      if (Long.compareUnsigned(column.integer(n), column.dictionarySize) >= 0 && !column.isNull(n)) {
        throw damage(field, "has an index beyond its dictionary");
      }
    }
  }

  private void data(Column column) throws HeadraceException {
    Field field = column.field;
    ArrowType type = field.type;
    switch (type.kind) {
      case NULL:
        column.nulls = column.length;
        break;
      case BOOL:
        column.values = head.nextBuffer(bytesOfBits(column.length));
        if (column.values.length < bytesOfBits(column.length)) {
          throw damage(field, "has fewer bits than values");
        }
        break;
      case INT:
        fixed(column, type.bits / 8, type.bits / 8);
        range(column);
        break;
      case FLOAT:
        fixed(column, type.bits / 8, type.bits / 8);
        break;
      case DATE:
        fixed(column, 4, 4);
        days(column);
        break;
      case TIMESTAMP:
      case DURATION:
        fixed(column, 8, 8);
        micros(column);
        break;
      case DECIMAL:
        fixed(column, 16, 16);
        digits(column);
        break;
      case FIXED_BINARY:
        bounded(field, type.size == 0 ? column.length : 0);
        fixed(column, type.size, 1);
        break;
      case TEXT:
      case BINARY:
        offsets(column);
        int end = column.offset(column.length);
        column.bytes = head.nextBuffer(end);
        if (end > column.bytes.length) {
          throw damage(field, "has an offset beyond its bytes");
        }
        if (type.kind == ArrowType.Kind.TEXT) {
          texts(column);
        }
        break;
      case LIST:
      case MAP:
        offsets(column);
        column.children = children(column, -1);
        if (column.offset(column.length) > column.children[0].length) {
          throw damage(field, "has an offset beyond its values");
        }
        break;
      case FIXED_LIST:
        long values = (long) column.length * type.size;
        if (values > MOST_VALUES) {
          throw damage(field, "has too many values");
        }
        bounded(field, type.size == 0 ? column.length : 0);
        column.children = children(column, values);
        break;
      case STRUCT:
        bounded(field, field.children.isEmpty() ? column.length : 0);
        column.children = children(column, column.length);
        break;
    }
  }

  private Column[] children(Column column, long length) throws HeadraceException {
    List<Field> fields = column.field.children;
    Column[] found = new Column[fields.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = column(fields.get(i), SparkTypes.child(column.type, column.field, i), length);
    }
    return found;
  }

  /** What Arrow has, and Spark has not. */
  private HeadraceException beyond(Field field, String what) {
    return Damage.unsupported(head.at(), "column \"" + field.name + "\" " + what);
  }

  private HeadraceException damage(Field field, String what) {
    return head.damage("column \"" + field.name + "\" " + what);
  }

  private void bounded(Field field, long length) throws HeadraceException {
    unbacked += length;
    if (length > MOST_WITHOUT_BUFFER || unbacked > MOST_UNBACKED) {
      throw damage(field, "has too many values that take no room");
    }
  }

  /** Args: {@code element} is how many bytes a number of it has. */
  private void fixed(Column column, int width, int element) throws HeadraceException {
    long needed = (long) column.length * width;
    if (needed > MOST_BYTES) {
      throw damage(column.field, "has too many values");
    }
    Slice found = head.nextBuffer(needed);
    if (found.length < needed) {
      throw damage(column.field, "has fewer bytes than values");
    }
    column.width = width;
    column.values = turn(found, (int) needed, element);
  }

  private Slice turn(Slice found, int needed, int element) {
    if (!turned || element == 1) {
      return found;
    }
    byte[] bytes = new byte[needed];
    for (int at = 0; at < needed; at += element) {
      for (int i = 0; i < element; i++) {
        bytes[at + i] = found.bytes[found.begin + at + element - 1 - i];
      }
    }
    return new Slice(bytes, 0, needed, found.at);
  }

  /** One more than values; they rise from zero or more, and stay below 2^31. */
  private void offsets(Column column) throws HeadraceException {
    int width = column.field.type.large ? 8 : 4;
    long needed = (column.length + 1L) * width;
    Slice found = head.nextBuffer(needed);
    if (column.length == 0 && found.length == 0) {
      column.values = new Slice(new byte[4], 0, 4, found.at);
      return;
    }
    if (found.length < needed) {
      throw damage(column.field, "has fewer offsets than values");
    }
    found = turn(found, (int) needed, width);
    column.values = width == 8 ? narrow(column, found) : found;
    long address = column.values.address();
    int before = 0;
    boolean rises = true;
    for (int n = 0; n <= column.length; n++) {
      int now = Platform.getInt(column.values.bytes, address + 4L * n);
      rises &= now >= before;
      before = now;
    }
    if (!rises) {
      throw damage(column.field, "has offsets that do not rise, or leave what 32 bits can tell");
    }
  }

  private static Slice narrow(Column column, Slice wide) {
    ByteBuffer narrow = ByteBuffer.allocate(4 * (column.length + 1)).order(ByteOrder.nativeOrder());
    for (int n = 0; n <= column.length; n++) {
      long offset = Platform.getLong(wide.bytes, wide.address() + 8L * n);
      narrow.putInt(offset < 0 || offset > Integer.MAX_VALUE ? -1 : (int) offset);
    }
    return new Slice(narrow.array(), 0, narrow.capacity(), wide.at);
  }

  /** Look whether texts are UTF-8: all of them together, and one by one where what lies under nulls may be anything. */
  private void texts(Column column) throws HeadraceException {
    Slice bytes = column.bytes;
    int from = bytes.begin + column.offset(0);
    int to = bytes.begin + column.offset(column.length);
    column.ascii = Texts.isAscii(bytes.bytes, from, to);
    if (column.ascii) {
      return;
    }
    boolean whole = Texts.isUtf8(bytes.bytes, from, to);
    for (int n = 0; n < column.length; n++) {
      int begin = bytes.begin + column.offset(n);
      int end = bytes.begin + column.offset(n + 1);
      boolean sound = whole ? isBetween(bytes, begin, to) && isBetween(bytes, end, to) : Texts.isUtf8(bytes.bytes, begin, end);
      if (!sound && begin < end && !column.isNull(n)) {
        throw damage(column.field, "has a text that is not UTF-8, in row " + n + " of its batch,");
      }
    }
  }

  /** Whether a place in UTF-8 is between characters. */
  private static boolean isBetween(Slice bytes, int at, int end) {
    return at == end || !Texts.isInner(bytes.bytes[at]);
  }

  private void range(Column column) throws HeadraceException {
    long most = SparkTypes.most(column.type);
    if (SparkTypes.bits(column.type) >= column.field.type.bits && column.field.type.signed || most == Long.MAX_VALUE) {
      return;
    }
    for (int n = 0; n < column.length; n++) {
      long value = column.integer(n);
      if ((value > most || value < -most - 1) && !column.isNull(n)) {
        throw new HeadraceException(
            "SCHEMA_MISMATCH",
            "column \"" + column.field.name + "\" has " + value + " in row " + n + " of its batch, which is beyond "
                + column.type.sql() + ": ask for a wider type",
            "");
      }
    }
  }

  private void days(Column column) throws HeadraceException {
    for (int n = 0; n < column.length; n++) {
      int day = (int) column.integer(n);
      if ((day < FIRST_DAY || day > LAST_DAY) && !column.isNull(n)) {
        throw beyond(column.field, "has a date that is not in the years 1 to 9999, in row " + n + " of its batch,");
      }
    }
  }

  /** Times have microseconds from here on. */
  private void micros(Column column) throws HeadraceException {
    ArrowType type = column.field.type;
    if (type.unit != TimeUnit.MICROSECONDS) {
      ByteBuffer micros = ByteBuffer.allocate(8 * column.length).order(ByteOrder.nativeOrder());
      for (int n = 0; n < column.length; n++) {
        micros.putLong(column.isNull(n) ? 0 : micros(column, n));
      }
      column.values = new Slice(micros.array(), 0, micros.capacity(), column.values.at);
    }
    if (type.kind == ArrowType.Kind.TIMESTAMP) {
      for (int n = 0; n < column.length; n++) {
        long time = column.integer(n);
        if ((time < FIRST_TIME || time > LAST_TIME) && !column.isNull(n)) {
          throw beyond(column.field, "has a time that is not in the years 1 to 9999, in row " + n + " of its batch,");
        }
      }
    }
  }

  private long micros(Column column, int n) throws HeadraceException {
    long time = column.integer(n);
    TimeUnit unit = column.field.type.unit;
    if (unit == TimeUnit.NANOSECONDS) {
      if (time % 1000 != 0) {
        throw beyond(column.field, "has nanoseconds, in row " + n + " of its batch, which Spark's times have not: cast it to microseconds,");
      }
      return time / 1000;
    }
    long factor = unit == TimeUnit.SECONDS ? 1_000_000 : 1000;
    if (Math.multiplyHigh(time, factor) != time * factor >> 63) {
      throw beyond(column.field, "has a time beyond what 64 bits of microseconds tell, in row " + n + " of its batch,");
    }
    return time * factor;
  }

  private void digits(Column column) throws HeadraceException {
    int precision = column.field.type.precision;
    if (column.type instanceof DecimalType) {
      precision = Math.min(precision, ((DecimalType) column.type).precision());
    }
    for (int n = 0; n < column.length; n++) {
      if (!Numbers.fits(column.values.bytes, column.values.address() + 16L * n, precision) && !column.isNull(n)) {
        throw damage(column.field, "has a decimal of more than " + precision + " digits, in row " + n + " of its batch,");
      }
    }
  }
}
