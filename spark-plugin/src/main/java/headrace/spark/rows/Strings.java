package headrace.spark.rows;

import java.lang.reflect.Field;
import java.util.Arrays;
import sun.misc.Unsafe;

/** The bytes of strings where they lie, in a JVM that has them as this one was seen to. */
final class Strings {
  private static final Unsafe UNSAFE;
  private static final long VALUE;
  private static final long CODER;

  /** Whether bytes may be read of strings; else they are asked for a copy. */
  private static final boolean OPEN;

  private static final int LATIN = 0;

  static {
    Unsafe unsafe = null;
    long value = 0;
    long coder = 0;
    boolean open = false;
    try {
      Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      unsafe = (Unsafe) field.get(null);
      Field bytes = String.class.getDeclaredField("value");
      Field kind = String.class.getDeclaredField("coder");
      if (bytes.getType() == byte[].class && kind.getType() == byte.class) {
        value = unsafe.objectFieldOffset(bytes);
        coder = unsafe.objectFieldOffset(kind);
        open = looksAsExpected(unsafe, value, coder);
      }
    } catch (ReflectiveOperationException | RuntimeException absent) {
      open = false;
    }
    UNSAFE = unsafe;
    VALUE = value;
    CODER = coder;
    OPEN = open;
  }

  private Strings() {}

  private static boolean looksAsExpected(Unsafe unsafe, long value, long coder) {
    String latin = new String(new char[] {'a', 'é'});
    String wide = new String(new char[] {'a', 'ф'});
    return Arrays.equals((byte[]) unsafe.getObject(latin, value), new byte[] {'a', (byte) 0xe9})
        && unsafe.getByte(latin, coder) == LATIN
        && unsafe.getByte(wide, coder) != LATIN;
  }

  /** The bytes of a string of ISO 8859-1, which must not be changed; null if it is none, or they are not to be had. */
  static byte[] latin(String text) {
    return OPEN && UNSAFE.getByte(text, CODER) == LATIN ? (byte[]) UNSAFE.getObject(text, VALUE) : null;
  }
}
