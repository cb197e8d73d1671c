package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** A table of a flatbuffer. Nothing is read beyond the message; slots that a table lacks have their default. */
final class Table {
  private final Slice message;
  private final ByteBuffer buffer;
  private final int position;
  private final int layout;
  private final int slots;

  /** A vector's first element, and how many there are: all of them are within the message. */
  static final class Vector {
    static final Vector EMPTY = new Vector(0, 0);

    final int start;
    final int length;

    Vector(int start, int length) {
      this.start = start;
      this.length = length;
    }
  }

  static Table root(Slice message) throws HeadraceException {
    ByteBuffer buffer = ByteBuffer.wrap(message.bytes, message.begin, message.length).slice().order(ByteOrder.LITTLE_ENDIAN);
    return new Table(message, buffer, target(message, buffer, 0));
  }

  private Table(Slice message, ByteBuffer buffer, long position) throws HeadraceException {
    this.message = message;
    this.buffer = buffer;
    this.position = checked(message, position, 4);
    long layout = position - buffer.getInt(this.position);
    this.layout = checked(message, layout, 2);
    this.slots = Math.max(0, (Short.toUnsignedInt(buffer.getShort(this.layout)) - 4) / 2);
  }

  private static int checked(Slice message, long position, long size) throws HeadraceException {
    if (position < 0 || position + size > message.length) {
      throw Damage.at(message.at, "an offset leaves the message");
    }
    return (int) position;
  }

  /** Where an offset that stands at a position points to. */
  private static long target(Slice message, ByteBuffer buffer, long position) throws HeadraceException {
    return position + Integer.toUnsignedLong(buffer.getInt(checked(message, position, 4)));
  }

  long at() {
    return message.at + position;
  }

  HeadraceException damage(String what) {
    return Damage.at(at(), what);
  }

  /** -1 if the slot is not there. */
  private int slot(int slot, int size) throws HeadraceException {
    if (slot >= slots) {
      return -1;
    }
    int offset = Short.toUnsignedInt(buffer.getShort(checked(message, layout + 4L + 2L * slot, 2)));
    return offset == 0 ? -1 : checked(message, (long) position + offset, size);
  }

  int int8(int slot, int otherwise) throws HeadraceException {
    int at = slot(slot, 1);
    return at < 0 ? otherwise : Byte.toUnsignedInt(buffer.get(at));
  }

  int int16(int slot, int otherwise) throws HeadraceException {
    int at = slot(slot, 2);
    return at < 0 ? otherwise : buffer.getShort(at);
  }

  int int32(int slot, int otherwise) throws HeadraceException {
    int at = slot(slot, 4);
    return at < 0 ? otherwise : buffer.getInt(at);
  }

  long int64(int slot, long otherwise) throws HeadraceException {
    int at = slot(slot, 8);
    return at < 0 ? otherwise : buffer.getLong(at);
  }

  /** A number of a vector. */
  long int64At(int position) throws HeadraceException {
    return buffer.getLong(checked(message, position, 8));
  }

  /** Null if the slot is not there. */
  Table table(int slot) throws HeadraceException {
    int at = slot(slot, 4);
    return at < 0 ? null : new Table(message, buffer, target(message, buffer, at));
  }

  Table needed(int slot, String lacking) throws HeadraceException {
    Table found = table(slot);
    if (found == null) {
      throw damage(lacking);
    }
    return found;
  }

  /** Args: {@code size} is that of an element. */
  Vector vector(int slot, int size) throws HeadraceException {
    int at = slot(slot, 4);
    if (at < 0) {
      return Vector.EMPTY;
    }
    int start = checked(message, target(message, buffer, at), 4);
    long length = Integer.toUnsignedLong(buffer.getInt(start));
    if (length * size > message.length - start - 4) {
      throw Damage.at(message.at + start, "a vector leaves the message");
    }
    return new Vector(start + 4, (int) length);
  }

  /** The n-th of a vector of tables. */
  Table element(Vector tables, int n) throws HeadraceException {
    return new Table(message, buffer, target(message, buffer, tables.start + 4L * n));
  }

  /** How many bytes a text has; 0 if it is not there. */
  int textLength(int slot) throws HeadraceException {
    return vector(slot, 1).length;
  }

  /** Empty if the slot is not there. */
  String text(int slot) throws HeadraceException {
    Vector bytes = vector(slot, 1);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(buffer.duplicate().position(bytes.start).limit(bytes.start + bytes.length)).toString();
    } catch (CharacterCodingException error) {
      throw Damage.at(message.at + bytes.start, "a name is not UTF-8");
    }
  }
}
