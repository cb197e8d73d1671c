package headrace.spark.rows;

import headrace.spark.HeadraceException;

/** What a batch says of its arrays and buffers, in the order of its schema's fields. */
final class BatchHead {
  private final Table table;
  private final Slice body;
  private final Table.Vector nodes;
  private final Table.Vector buffers;
  private final Compression compression;
  private int node;
  private int buffer;

  BatchHead(Table table, Slice body) throws HeadraceException {
    this.table = table;
    this.body = body;
    nodes = table.vector(1, 16);
    buffers = table.vector(2, 16);
    Table how = table.table(3);
    compression = how == null ? null : Compression.of(how);
  }

  long at() {
    return table.at();
  }

  HeadraceException damage(String what) {
    return table.damage(what);
  }

  long rows() throws HeadraceException {
    return sound(table.int64(0, 0));
  }

  /** The next array. */
  void nextArray() throws HeadraceException {
    if (node == nodes.length) {
      throw damage("a batch has fewer arrays than its schema");
    }
    if (nulls(node) > values(node)) {
      throw damage("an array has more nulls than values");
    }
    node++;
  }

  /** Of the array that was come to last. */
  long values() throws HeadraceException {
    return values(node - 1);
  }

  long nulls() throws HeadraceException {
    return nulls(node - 1);
  }

  private long values(int node) throws HeadraceException {
    return sound(table.int64At(nodes.start + 16 * node));
  }

  private long nulls(int node) throws HeadraceException {
    return sound(table.int64At(nodes.start + 16 * node + 8));
  }

  /** The next buffer. Args: {@code most} is how many bytes its array can need: no more are unpacked. */
  Slice nextBuffer(long most) throws HeadraceException {
    if (buffer == buffers.length) {
      throw damage("a batch has fewer buffers than its schema");
    }
    long from = sound(table.int64At(buffers.start + 16 * buffer));
    long length = sound(table.int64At(buffers.start + 16 * buffer + 8));
    buffer++;
    if (from > body.length || length > body.length - from) {
      throw damage("a buffer leaves its batch");
    }
    Slice stored = body.part((int) from, (int) length);
    return compression == null ? stored : compression.unpack(stored, most);
  }

  /** Look whether all of it was asked for. */
  void end() throws HeadraceException {
    if (node != nodes.length || buffer != buffers.length) {
      throw damage("a batch has more arrays or buffers than its schema");
    }
  }

  private long sound(long size) throws HeadraceException {
    if (size < 0) {
      throw damage("a size is below zero");
    }
    return size;
  }
}
