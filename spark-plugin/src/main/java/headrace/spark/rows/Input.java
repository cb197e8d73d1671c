package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The bytes of segments, in order: of an array, which is shared, or of a stream, of which no more is kept than arrived. */
final class Input implements Closeable {
  /** Of this machine. */
  static final boolean BIG_ENDIAN = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;

  /** Room that is made for bytes before any of them has come. */
  private static final int AHEAD = 1 << 20;

  /** The longest array of all JVMs. */
  private static final int MOST = Integer.MAX_VALUE - 8;

  /** Null where all bytes are in {@code bytes}. */
  private final InputStream stream;

  private final byte[] bytes;
  private long at;

  /** A byte of the stream that was looked at; -1 if there is none. */
  private int seen = -1;

  Input(byte[] bytes) {
    this.stream = null;
    this.bytes = bytes;
  }

  Input(InputStream stream) {
    this.stream = stream;
    this.bytes = null;
  }

  long at() {
    return at;
  }

  boolean done() throws IOException {
    if (stream == null) {
      return at == bytes.length;
    }
    if (seen < 0) {
      seen = stream.read();
    }
    return seen < 0;
  }

  /** The next bytes, as many as this. */
  Slice take(long length, String what) throws IOException {
    if (length > MOST) {
      throw Damage.unsupported(at, what + " has more than the 2 GiB of an array; have smaller batches written");
    }
    Slice found = stream == null ? share((int) length, what) : read((int) length, what);
    at += length;
    return found;
  }

  private Slice share(int length, String what) throws HeadraceException {
    if (length > bytes.length - at) {
      throw ended(what);
    }
    return new Slice(bytes, (int) at, length, at);
  }

  private Slice read(int length, String what) throws IOException {
    byte[] found = new byte[Math.min(length, Math.max(AHEAD, stream.available()))];
    int count = 0;
    if (seen >= 0 && length > 0) {
      found[count++] = (byte) seen;
      seen = -1;
    }
    while (count < length) {
      if (count == found.length) {
        found = Arrays.copyOf(found, (int) Math.min(length, 2L * count));
      }
      int more = stream.read(found, count, found.length - count);
      if (more < 0) {
        throw ended(what);
      }
      count += more;
    }
    return new Slice(found, 0, length, at);
  }

  private HeadraceException ended(String what) {
    return Damage.at(at, "the input ends within " + what);
  }

  @Override
  public void close() throws IOException {
    if (stream != null) {
      stream.close();
    }
  }
}
