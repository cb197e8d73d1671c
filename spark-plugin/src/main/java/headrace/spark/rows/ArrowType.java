package headrace.spark.rows;

import java.util.concurrent.TimeUnit;

/** A type of Arrow that rows are made of. */
final class ArrowType {
  /** Large texts, binaries and lists differ in their offsets alone: {@code large} says it. */
  enum Kind {
    NULL(1),
    BOOL(6),
    INT(2),
    FLOAT(3),
    TEXT(5),
    BINARY(4),
    FIXED_BINARY(15),
    DECIMAL(7),
    DATE(8),
    TIMESTAMP(10),
    DURATION(18),
    LIST(12),
    FIXED_LIST(16),
    STRUCT(13),
    MAP(17);

    /** In the schema's union of types. */
    final int number;

    Kind(int number) {
      this.number = number;
    }
  }

  static final ArrowType NULL = new ArrowType(Kind.NULL);
  static final ArrowType BOOL = new ArrowType(Kind.BOOL);
  static final ArrowType TEXT = new ArrowType(Kind.TEXT);
  static final ArrowType BINARY = new ArrowType(Kind.BINARY);
  static final ArrowType DATE = new ArrowType(Kind.DATE);
  static final ArrowType LIST = new ArrowType(Kind.LIST);
  static final ArrowType STRUCT = new ArrowType(Kind.STRUCT);
  static final ArrowType MAP = new ArrowType(Kind.MAP);

  final Kind kind;

  /** Of numbers. */
  final int bits;

  final boolean signed;
  final boolean large;

  /** Bytes of each value, or values of each list, where all have as many. */
  final int size;

  final int precision;
  final int scale;
  final TimeUnit unit;

  /** Null if there is none. */
  final String zone;

  private ArrowType(Kind kind) {
    this(kind, 0, true, false, 0, 0, 0, null, null);
  }

  private ArrowType(
      Kind kind, int bits, boolean signed, boolean large, int size, int precision, int scale, TimeUnit unit, String zone) {
    this.kind = kind;
    this.bits = bits;
    this.signed = signed;
    this.large = large;
    this.size = size;
    this.precision = precision;
    this.scale = scale;
    this.unit = unit;
    this.zone = zone;
  }

  static ArrowType integer(int bits, boolean signed) {
    return new ArrowType(Kind.INT, bits, signed, false, 0, 0, 0, null, null);
  }

  static ArrowType floating(int bits) {
    return new ArrowType(Kind.FLOAT, bits, true, false, 0, 0, 0, null, null);
  }

  /** A text, a binary or a list with offsets of 64 bits. */
  static ArrowType large(Kind kind) {
    return new ArrowType(kind, 0, true, true, 0, 0, 0, null, null);
  }

  /** A fixed-size binary or list. */
  static ArrowType fixed(Kind kind, int size) {
    return new ArrowType(kind, 0, true, false, size, 0, 0, null, null);
  }

  static ArrowType decimal(int precision, int scale) {
    return new ArrowType(Kind.DECIMAL, 0, true, false, 0, precision, scale, null, null);
  }

  static ArrowType timestamp(TimeUnit unit, String zone) {
    return new ArrowType(Kind.TIMESTAMP, 0, true, false, 0, 0, 0, unit, zone);
  }

  static ArrowType duration(TimeUnit unit) {
    return new ArrowType(Kind.DURATION, 0, true, false, 0, 0, 0, unit, null);
  }
}
