package headrace.spark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import headrace.spark.HeadraceException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Buffers are unpacked as far as their arrays need them. */
class CompressionTest {
  private static final int SIZE = 5_000_000;
  private static final int PADDING = 64;

  private static Slice packed(Compression codec) {
    byte[] packed = codec.pack(new byte[SIZE], 0, SIZE);
    return new Slice(packed, 0, packed.length, 0);
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void aBufferMayHaveMoreThanItsArrayNeeds(Compression codec) throws HeadraceException {
    assertEquals(8 + PADDING, codec.unpack(packed(codec), 8).length);
    assertEquals(SIZE, codec.unpack(packed(codec), SIZE - PADDING).length);
    assertEquals(SIZE, codec.unpack(packed(codec), SIZE).length);
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void aSizeThatLiesIsDamage(Compression codec) {
    for (long told : new long[] {SIZE - 1, SIZE + 1, -2}) {
      Slice packed = packed(codec);
      for (int n = 0; n < 8; n++) {
        packed.bytes[n] = (byte) (told >> 8 * n);
      }
      assertThrows(HeadraceException.class, () -> codec.unpack(packed, SIZE));
    }
  }
}
