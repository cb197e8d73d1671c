package headrace.spark.rows;

import headrace.spark.HeadraceException;

/** Errors of streams that cannot be read. They tell where, in bytes from the stream's start. */
final class Damage {
  private Damage() {}

  /** Bytes that break the format. */
  static HeadraceException at(long offset, String what) {
    return new HeadraceException("BAD_DATA", what + " at byte " + offset, "");
  }

  /** Sound, as far as is known, but nothing that rows are read from. */
  static HeadraceException unsupported(long offset, String what) {
    return new HeadraceException("UNSUPPORTED", what + " at byte " + offset, "");
  }
}
