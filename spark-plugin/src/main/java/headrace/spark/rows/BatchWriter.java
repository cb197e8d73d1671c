package headrace.spark.rows;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Gathers the arrays and buffers of a batch, which are shared until it is written; then those of the next one. */
final class BatchWriter {
  static final byte[] END = {-1, -1, -1, -1, 0, 0, 0, 0};
  private static final byte[] ZEROS = new byte[8];

  private final Compression compression;
  private long[] nodes = new long[16];
  private int nodeCount;
  private byte[][] buffers = new byte[16][];
  private int[] begins = new int[16];
  private int[] lengths = new int[16];
  private int bufferCount;

  /** Room that each batch needs anew. */
  private byte[][] scratch = new byte[8][];

  private int scratchCount;

  /** Args: {@code compression} is null if there is none. */
  BatchWriter(Compression compression) {
    this.compression = compression;
  }

  void node(int values, int nulls) {
    if (nodeCount == nodes.length) {
      nodes = Arrays.copyOf(nodes, 2 * nodeCount);
    }
    nodes[nodeCount++] = values;
    nodes[nodeCount++] = nulls;
  }

  void buffer(byte[] bytes, int length) {
    buffer(bytes, 0, length);
  }

  void buffer(byte[] bytes, int begin, int length) {
    if (bufferCount == buffers.length) {
      buffers = Arrays.copyOf(buffers, 2 * bufferCount);
      begins = Arrays.copyOf(begins, 2 * bufferCount);
      lengths = Arrays.copyOf(lengths, 2 * bufferCount);
    }
    buffers[bufferCount] = bytes;
    begins[bufferCount] = begin;
    lengths[bufferCount++] = length;
  }

  /** Room for a buffer until the batch is written; what is in it is anything. */
  byte[] scratch(int size) {
    if (scratchCount == scratch.length) {
      scratch = Arrays.copyOf(scratch, 2 * scratchCount);
    }
    byte[] found = scratch[scratchCount];
    if (found == null || found.length < size) {
      found = new byte[Math.max(size, 256)];
      scratch[scratchCount] = found;
    }
    scratchCount++;
    return found;
  }

  void writeBatch(OutputStream out, int rows) throws IOException {
    write(out, rows, -1, false);
  }

  void writeDictionary(OutputStream out, int values, long id, boolean delta) throws IOException {
    write(out, values, id, delta);
  }

  /** Args: {@code dictionary} is its id; -1 of rows. */
  private void write(OutputStream out, int rows, long dictionary, boolean delta) throws IOException {
    if (compression != null) {
      for (int i = 0; i < bufferCount; i++) {
        buffers[i] = compression.pack(buffers[i], begins[i], lengths[i]);
        begins[i] = 0;
        lengths[i] = buffers[i].length;
      }
    }
    long[] places = new long[2 * bufferCount];
    long body = 0;
    for (int i = 0; i < bufferCount; i++) {
      places[2 * i] = body;
      places[2 * i + 1] = lengths[i];
      body += padded(lengths[i]);
    }
    FlatbufferWriter head = new FlatbufferWriter();
    head.table(4);
    head.int16(Messages.V5);
    head.int8(dictionary < 0 ? Messages.BATCH : Messages.DICTIONARY);
    int header = head.offset();
    head.int64(body);
    if (dictionary >= 0) {
      head.pointToTable(header, 3);
      head.table(3);
      head.int64(dictionary);
      header = head.offset();
      head.int8(delta ? 1 : 0);
    }
    head.pointToTable(header, 4);
    head.table(4);
    head.int64(rows);
    int arrays = head.offset();
    int stored = head.offset();
    int how = 0;
    if (compression == null) {
      head.skip();
    } else {
      how = head.offset();
    }
    head.pairs(arrays, nodes, nodeCount);
    head.pairs(stored, places, places.length);
    if (compression != null) {
      head.pointToTable(how, 2);
      head.table(2);
      head.int8(compression.ordinal());
      head.int8(0);
    }
    writeFramed(out, head);
    for (int i = 0; i < bufferCount; i++) {
      if (lengths[i] > 0) {
        out.write(buffers[i], begins[i], lengths[i]);
        out.write(ZEROS, 0, (int) padded(lengths[i]) - lengths[i]);
      }
    }
    Arrays.fill(buffers, 0, bufferCount, null);
    nodeCount = 0;
    bufferCount = 0;
    scratchCount = 0;
  }

  /** Write a flatbuffer in its frame, and give it a multiple of eight bytes. */
  static void writeFramed(OutputStream out, FlatbufferWriter message) throws IOException {
    int size = (int) padded(message.length());
    byte[] frame = new byte[8];
    ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN).putInt(Messages.CONTINUED).putInt(size);
    out.write(frame);
    out.write(message.bytes(), 0, message.length());
    out.write(ZEROS, 0, size - message.length());
  }

  private static long padded(long length) {
    return (length + 7) / 8 * 8;
  }
}
