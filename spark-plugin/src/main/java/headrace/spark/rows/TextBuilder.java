package headrace.spark.rows;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Texts and binaries; texts by their places in a dictionary, as long as it pays. */
public final class TextBuilder extends ColumnBuilder {
  /** Longer texts are copied by what the JVM has for it. */
  private static final int SHORT = 64;

  /** Of a batch whose texts have more bytes no dictionary is given up: it is written with it. */
  private static final long MOST_PLAIN = 1 << 26;

  private final boolean text;

  /** One more than values. */
  private byte[] offsets = new byte[1024];

  private byte[] bytes = new byte[1024];

  /** How many there are. */
  private int end;

  /** Null where texts stand for themselves. */
  private Coded coded;

  /** The size is asked for after each row. */
  private final IntPredicate isNull = this::isNull;

  TextBuilder(Field field, String path, boolean coding) {
    super(field, path);
    text = field.type.kind == ArrowType.Kind.TEXT;
    coded = text && coding ? new Coded() : null;
  }

  Coded coded() {
    return coded;
  }

  public void add(String value) throws Unfit {
    byte[] latin = Strings.latin(value);
    if (latin != null && (coded != null ? coded.putKnown(latin) : copied(latin))) {
      length++;
      return;
    }
    addOther(value, latin);
  }

  private void addOther(String value, byte[] latin) throws Unfit {
    if (latin != null && Texts.isAscii(latin, 0, latin.length)) {
      addSound(latin, Platform.BYTE_ARRAY_OFFSET, latin.length);
      return;
    }
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    if (latin == null && !isWhole(value)) {
      throw Unfit.of(path, "a text has a surrogate without the other one of its pair");
    }
    addSound(utf8, Platform.BYTE_ARRAY_OFFSET, utf8.length);
  }

  /** Add a short text that stands for itself, if there is room and it is of ASCII, which is seen as it is copied. */
  private boolean copied(byte[] latin) {
    int count = latin.length;
    if (count < 8 || count > SHORT || count > bytes.length - end || 4 * length + 8 > offsets.length) {
      return false;
    }
    long from = Platform.BYTE_ARRAY_OFFSET;
    long to = from + end;
    int last = count - 8;
    // Words overlap, so that lengths decide few branches, which would be guessed wrong.
    long all = word(latin, from, to, 0) | word(latin, from, to, Math.min(8, last))
        | word(latin, from, to, Math.min(16, last)) | word(latin, from, to, last);
    if (count > 32) {
      all |= word(latin, from, to, 24) | word(latin, from, to, Math.min(32, last)) | word(latin, from, to, Math.min(40, last))
          | word(latin, from, to, Math.min(48, last));
    }
    if ((all & Texts.HIGH_BITS) != 0) {
      return false;
    }
    end += count;
    Platform.putInt(offsets, from + 4L * length + 4, end);
    return true;
  }

  /** Copy a word; gives it. */
  private long word(byte[] latin, long from, long to, int at) {
    long word = Platform.getLong(latin, from + at);
    Platform.putLong(bytes, to + at, word);
    return word;
  }

  /** Whether each surrogate has its other one: else what its bytes are is another text. */
  private static boolean isWhole(String value) {
    for (int i = 0; i < value.length(); i++) {
      if (Character.isSurrogate(value.charAt(i))) {
        boolean pair = i + 1 < value.length() && Character.isSurrogatePair(value.charAt(i), value.charAt(i + 1));
        if (!pair) {
          return false;
        }
        i++;
      }
    }
    return true;
  }

  public void add(UTF8String value) throws Unfit {
    Object base = value.getBaseObject();
    if (!(base instanceof byte[])) {
      byte[] copy = value.getBytes();
      addUtf8(copy, 0, copy.length);
      return;
    }
    addUtf8((byte[]) base, (int) (value.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET), value.numBytes());
  }

  private void addUtf8(byte[] utf8, int from, int count) throws Unfit {
    if (text && !Texts.isAscii(utf8, from, from + count) && !Texts.isUtf8(utf8, from, from + count)) {
      throw Unfit.of(path, "a text is not UTF-8");
    }
    addSound(utf8, Platform.BYTE_ARRAY_OFFSET + from, count);
  }

  private void addSound(byte[] value, long from, int count) throws Unfit {
    if (coded != null) {
      if (coded.put(value, from, count)) {
        length++;
        return;
      }
      if (size() > MOST_PLAIN) {
        throw Unfit.full(path);
      }
      makePlain();
    }
    addPlain(value, from, count);
  }

  private void addPlain(byte[] value, long from, int count) throws Unfit {
    int next = end + count;
    if (next > bytes.length || next < 0) {
      bytes = grown(bytes, (long) end + count);
    }
    System.arraycopy(value, (int) (from - Platform.BYTE_ARRAY_OFFSET), bytes, end, count);
    end = next;
    addEnd();
    length++;
  }

  private void addEnd() throws Unfit {
    int at = 4 * (length + 1);
    if (at + 4 > offsets.length) {
      offsets = grown(offsets, at + 4L);
    }
    Platform.putInt(offsets, Platform.BYTE_ARRAY_OFFSET + at, end);
  }

  @Override
  void add(Object value) throws Unfit {
    if (text && value instanceof String) {
      add((String) value);
    } else if (!text && value instanceof byte[]) {
      addPlain((byte[]) value, Platform.BYTE_ARRAY_OFFSET, ((byte[]) value).length);
    } else {
      throw Unfit.of(path, value, text ? "STRING" : "BINARY");
    }
  }

  @Override
  void addInternal(Object value) throws Unfit {
    if (text && value instanceof UTF8String) {
      add((UTF8String) value);
    } else {
      add(value);
    }
  }

  @Override
  void addNull() throws Unfit {
    if (coded != null) {
      coded.putNull();
    } else {
      addEnd();
    }
  }

  /** Have texts stand for themselves from now on. */
  private void makePlain() throws Unfit {
    Coded before = coded;
    coded = null;
    int count = length;
    end = 0;
    for (length = 0; length < count; ) {
      if (isNull(length)) {
        addEnd();
        length++;
      } else {
        int place = before.place(length);
        addPlain(before.bytes(), Platform.BYTE_ARRAY_OFFSET + before.begin(place), before.begin(place + 1) - before.begin(place));
      }
    }
  }

  @Override
  void truncateValues(int n) {
    if (coded != null) {
      coded.truncate(n);
    } else {
      end = Platform.getInt(offsets, Platform.BYTE_ARRAY_OFFSET + 4L * n);
    }
  }

  @Override
  void clear() {
    super.clear();
    end = 0;
    if (coded != null) {
      coded.nextBatch();
    }
  }

  @Override
  long size() {
    return 4L * length + (coded != null ? coded.plain(isNull) : end);
  }

  @Override
  void settle(StringBuilder signature) {
    if (coded != null && !coded.pays(nulls) && size() <= MOST_PLAIN) {
      try {
        makePlain();
      } catch (Unfit error) {
        throw new IllegalStateException(error); // of so few bytes
      }
    }
    signature.append(coded == null ? 'p' : (char) coded.settledWidth());
  }

  @Override
  void dictionaries(Consumer<TextBuilder> each) {
    if (coded != null) {
      each.accept(this);
    }
  }

  @Override
  Field written() {
    return coded == null ? field : field.coded(new Field.Coding(coded.id, 8 * coded.settledWidth(), true));
  }

  @Override
  void values(BatchWriter batch) {
    if (coded != null) {
      coded.places(batch);
    } else {
      batch.buffer(offsets, 4 * (length + 1));
      batch.buffer(bytes, end);
    }
  }
}
