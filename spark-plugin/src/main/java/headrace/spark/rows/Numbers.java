package headrace.spark.rows;

import java.math.BigInteger;
import org.apache.spark.unsafe.Platform;

/** Numbers that Java has no way of its own to read. */
final class Numbers {
  /** 10 to the power of 18: what 64 bits hold of digits. */
  private static final int LONG_DIGITS = 18;

  private static final BigInteger[] POWERS = new BigInteger[39];

  static {
    for (int n = 0; n < POWERS.length; n++) {
      POWERS[n] = BigInteger.TEN.pow(n);
    }
  }

  private Numbers() {}

  /** A float of 16 bits. */
  static float ofHalf(short half) {
    int exponent = half >> 10 & 0x1f;
    int fraction = half & 0x3ff;
    int sign = half < 0 ? 1 << 31 : 0;
    if (exponent == 0) {
      float small = fraction * 0x1p-24f;
      return sign == 0 ? small : -small;
    }
    int wide = exponent == 0x1f ? 0xff : exponent - 15 + 127;
    return Float.intBitsToFloat(sign | wide << 23 | fraction << 13);
  }

  /** An integer of 128 bits in the machine's byte order, as a decimal of Arrow has it. */
  static BigInteger wide(byte[] bytes, long address) {
    byte[] highestFirst = new byte[16];
    for (int i = 0; i < 16; i++) {
      highestFirst[i] = Platform.getByte(bytes, address + (Input.BIG_ENDIAN ? i : 15 - i));
    }
    return new BigInteger(highestFirst);
  }

  /** Whether a decimal of 128 bits has at most so many digits. */
  static boolean fits(byte[] bytes, long address, int precision) {
    if (precision <= LONG_DIGITS) {
      long low = Platform.getLong(bytes, address + (Input.BIG_ENDIAN ? 8 : 0));
      long high = Platform.getLong(bytes, address + (Input.BIG_ENDIAN ? 0 : 8));
      long most = POWERS[precision].longValue();
      return high == low >> 63 && low < most && low > -most;
    }
    return wide(bytes, address).abs().compareTo(POWERS[precision]) < 0;
  }
}
