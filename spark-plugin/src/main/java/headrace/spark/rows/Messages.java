package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The messages of segments, one by one. */
final class Messages implements Closeable {
  static final int V5 = 4;
  static final int END = 0;
  static final int SCHEMA = 1;
  static final int DICTIONARY = 2;
  static final int BATCH = 3;

  /** What every frame begins with. */
  static final int CONTINUED = -1;

  private static final int V4 = 3;

  private final Input input;

  /** Of the message that was read last. */
  private long at;

  private int kind;
  private Table header;
  private Slice body;

  Messages(Input input) {
    this.input = input;
  }

  /** Whether the input ends here. */
  boolean done() throws IOException {
    return input.done();
  }

  /** Read a message; gives its kind. */
  int next() throws IOException {
    at = input.at();
    Slice frame = input.take(8, "the frame of a message");
    ByteBuffer numbers = ByteBuffer.wrap(frame.bytes, frame.begin, 8).order(ByteOrder.LITTLE_ENDIAN);
    if (numbers.getInt() != CONTINUED) {
      throw Damage.at(at, "no message of Arrow's stream format begins");
    }
    int size = numbers.getInt();
    if (size == 0) {
      kind = END;
      return END;
    }
    if (size < 0) {
      throw Damage.at(at + 4, "a message's size is below zero");
    }
    Table message = Table.root(input.take(size, "a message"));
    int version = message.int16(0, 0);
    if (version != V4 && version != V5) {
      throw Damage.unsupported(at, "a message is of a version of Arrow that rows are not read from");
    }
    long length = message.int64(3, 0);
    if (length < 0) {
      throw message.damage("a body's size is below zero");
    }
    body = input.take(length, "the body of a message");
    header = message.needed(2, "a message has no header");
    kind = message.int8(1, 0);
    if (kind < SCHEMA || kind > BATCH) {
      throw message.damage("a message is neither schema, dictionary nor batch");
    }
    return kind;
  }

  /** Where the message begins. */
  long at() {
    return at;
  }

  Table header() {
    return header;
  }

  /** The arrays of a batch, or of a dictionary. */
  BatchHead arrays() throws HeadraceException {
    return new BatchHead(kind == BATCH ? header : header.needed(1, "a dictionary has no values"), body);
  }

  @Override
  public void close() throws IOException {
    input.close();
  }
}
