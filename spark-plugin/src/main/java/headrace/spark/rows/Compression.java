package headrace.spark.rows;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import headrace.spark.HeadraceException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import net.jpountz.lz4.LZ4FrameInputStream;
import net.jpountz.lz4.LZ4FrameOutputStream;

/** How buffers are compressed: eight bytes that tell the size, then a frame of LZ4 or Zstandard. */
public enum Compression {
  LZ4,
  ZSTD;

  /** What stands in the size's place where a buffer would not have become smaller. */
  private static final long AS_IT_IS = -1;

  private static final int LEVEL = 1;
  private static final int LONGEST_WINDOW = 27;

  /** Room that is made before anything was unpacked. */
  private static final int AHEAD = 1 << 20;

  /** What writers may add to a buffer before they compress it. */
  private static final int PADDING = 64;

  /** Args: {@code how} is what a batch says of it. */
  static Compression of(Table how) throws HeadraceException {
    int codec = how.int8(0, 0);
    if (codec > 1 || how.int8(1, 0) != 0) {
      throw how.damage("a batch is compressed in an unknown way");
    }
    return values()[codec];
  }

  Slice unpack(Slice stored, long most) throws HeadraceException {
    if (stored.length == 0) {
      return stored;
    }
    if (stored.length < 8) {
      throw Damage.at(stored.at, "a compressed buffer does not tell its size");
    }
    long size = ByteBuffer.wrap(stored.bytes, stored.begin, 8).order(ByteOrder.LITTLE_ENDIAN).getLong();
    Slice frame = stored.part(8, stored.length - 8);
    if (size == AS_IT_IS) {
      return frame;
    }
    long needed = Math.min(size, most + PADDING);
    if (needed < 0 || needed > Integer.MAX_VALUE - 8) {
      throw Damage.at(stored.at, "a compressed buffer tells a size that is out of range");
    }
    byte[] found = new byte[(int) Math.min(needed, Math.max(AHEAD, frame.length))];
    int count = 0;
    try (InputStream stream = reader(new ByteArrayInputStream(frame.bytes, frame.begin, frame.length))) {
      while (count < needed) {
        if (count == found.length) {
          found = Arrays.copyOf(found, (int) Math.min(needed, 2L * count));
        }
        int more = stream.read(found, count, found.length - count);
        if (more <= 0) {
          throw Damage.at(stored.at, "a compressed buffer has fewer bytes than it tells");
        }
        count += more;
      }
      if (needed == size && stream.read() >= 0) {
        throw Damage.at(stored.at, "a compressed buffer has more bytes than it tells");
      }
    } catch (HeadraceException error) {
      throw error;
    } catch (IOException | RuntimeException error) { // the libraries throw either for damaged bytes
      HeadraceException damage = Damage.at(stored.at, "a compressed buffer cannot be unpacked");
      damage.initCause(error);
      throw damage;
    }
    return new Slice(found, 0, found.length, stored.at);
  }

  private InputStream reader(InputStream frame) throws IOException {
    if (this == LZ4) {
      return new LZ4FrameInputStream(frame, true);
    }
    return new ZstdInputStreamNoFinalizer(frame).setLongMax(LONGEST_WINDOW);
  }

  /** A buffer as it is written, with its size before it. */
  byte[] pack(byte[] bytes, int begin, int length) {
    if (length == 0) {
      return new byte[0];
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream(length / 2 + 64);
    byte[] size = new byte[8];
    ByteBuffer.wrap(size).order(ByteOrder.LITTLE_ENDIAN).putLong(length);
    out.write(size, 0, 8);
    if (this == LZ4) {
      try (OutputStream frame = new LZ4FrameOutputStream(out)) {
        frame.write(bytes, begin, length);
      } catch (IOException error) {
        throw new IllegalStateException("memory cannot be written", error);
      }
    } else {
      byte[] packed = new byte[(int) Zstd.compressBound(length)];
      long count = Zstd.compressByteArray(packed, 0, packed.length, bytes, begin, length, LEVEL);
      if (Zstd.isError(count)) {
        throw new IllegalStateException("zstd: " + Zstd.getErrorName(count));
      }
      out.write(packed, 0, (int) count);
    }
    if (out.size() >= length + 8) {
      byte[] plain = new byte[length + 8];
      ByteBuffer.wrap(plain).order(ByteOrder.LITTLE_ENDIAN).putLong(AS_IT_IS);
      System.arraycopy(bytes, begin, plain, 8, length);
      return plain;
    }
    return out.toByteArray();
  }
}
