package headrace.spark.rows;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import net.razorvine.pickle.Pickler;
import net.razorvine.pickle.Unpickler;
import org.apache.fory.Fory;
import org.apache.fory.config.Language;
import org.bson.BsonBinaryReader;
import org.bson.BsonBinaryWriter;
import org.bson.BsonType;
import org.bson.io.BasicOutputBuffer;

/** A way to turn rows into pieces of bytes, and back. */
interface Pieces {
  interface Each<T> {
    void accept(T each) throws IOException;
  }

  /** Of some rows. */
  byte[] write(Object[][] rows) throws IOException;

  void read(byte[] piece, Each<Object[]> each) throws IOException;

  /**
   * @param name of the way
   * @param size rows of a piece, as far as it has more than one
   */
  static Pieces of(String name, int size) throws IOException {
    switch (name) {
      case "pickle":
        return size == 1 ? new Pickles() : new ListsOfPickles();
      case "fory":
        return new ForyRows();
      case "bson":
        return new Bson();
      case "protobuf":
        return new Protobuf();
      case "stream":
        return new Streams();
      default:
        throw new IOException("nobody knows how to write " + name);
    }
  }

  /** By pyrolite, as Spark has it. */
  class Pickles implements Pieces {
    final Pickler pickler = new Pickler(true, false);
    final Unpickler unpickler = new Unpickler();

    @Override
    public byte[] write(Object[][] rows) throws IOException {
      return pickler.dumps(rows[0]);
    }

    @Override
    public void read(byte[] piece, Each<Object[]> each) throws IOException {
      each.accept((Object[]) unpickler.loads(piece));
    }
  }

  class ListsOfPickles extends Pickles {
    @Override
    public byte[] write(Object[][] rows) throws IOException {
      return pickler.dumps(rows);
    }

    @Override
    public void read(byte[] piece, Each<Object[]> each) throws IOException {
      for (Object row : (List<?>) unpickler.loads(piece)) {
        each.accept((Object[]) row);
      }
    }
  }

  class ForyRows implements Pieces {
    private final Fory fory = Fory.builder().withLanguage(Language.JAVA).requireClassRegistration(true).build();

    @Override
    public byte[] write(Object[][] rows) {
      return fory.serialize(rows[0]);
    }

    @Override
    public void read(byte[] piece, Each<Object[]> each) throws IOException {
      each.accept((Object[]) fory.deserialize(piece));
    }
  }

  /** By the row codec. */
  class Streams implements Pieces {
    private final ByteArrayOutputStream stream = new ByteArrayOutputStream();

    @Override
    public byte[] write(Object[][] rows) throws IOException {
      stream.reset();
      try (RowWriter<Object[]> writer = RowSink.to(stream).arrays()) {
        for (Object[] row : rows) {
          writer.write(row);
        }
        writer.end();
      }
      return stream.toByteArray();
    }

    @Override
    public void read(byte[] piece, Each<Object[]> each) throws IOException {
      try (RowReader<Object> reader = RowSource.of(piece).arrays()) {
        while (reader.next()) {
          each.accept((Object[]) reader.get());
        }
      }
    }
  }

  /** A document of nine fields, by the driver's own writer and reader. */
  class Bson implements Pieces {
    private static final String[] NAMES = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    private final BasicOutputBuffer buffer = new BasicOutputBuffer();

    @Override
    public byte[] write(Object[][] rows) {
      buffer.truncateToPosition(0);
      try (BsonBinaryWriter writer = new BsonBinaryWriter(buffer)) {
        writer.writeStartDocument();
        for (int n = 0; n < NAMES.length; n++) {
          Object value = rows[0][n];
          writer.writeName(NAMES[n]);
          if (value instanceof String) {
            writer.writeString((String) value);
          } else if (value instanceof Double) {
            writer.writeDouble((Double) value);
          } else {
            writer.writeInt32(((Number) value).intValue());
          }
        }
        writer.writeEndDocument();
      }
      return buffer.toByteArray();
    }

    @Override
    public void read(byte[] piece, Each<Object[]> each) throws IOException {
      Object[] row = new Object[NAMES.length];
      try (BsonBinaryReader reader = new BsonBinaryReader(ByteBuffer.wrap(piece))) {
        reader.readStartDocument();
        for (int n = 0; reader.readBsonType() != BsonType.END_OF_DOCUMENT; n++) {
          reader.skipName();
          switch (reader.getCurrentBsonType()) {
            case STRING:
              row[n] = reader.readString();
              break;
            case DOUBLE:
              row[n] = reader.readDouble();
              break;
            default:
              row[n] = reader.readInt32();
          }
        }
        reader.readEndDocument();
      }
      each.accept(row);
    }
  }

  /** A message of nine fields, written and read as the classes that protoc makes do it. */
  class Protobuf implements Pieces {
    private static final int FIELDS = 9;

    @Override
    public byte[] write(Object[][] rows) throws IOException {
      Object[] row = rows[0];
      int size = 0;
      for (int n = 0; n < FIELDS; n++) {
        if (row[n] instanceof String) {
          size += CodedOutputStream.computeStringSize(n + 1, (String) row[n]);
        } else if (row[n] instanceof Double) {
          size += CodedOutputStream.computeDoubleSize(n + 1, (Double) row[n]);
        } else {
          size += CodedOutputStream.computeInt32Size(n + 1, ((Number) row[n]).intValue());
        }
      }
      byte[] bytes = new byte[size];
      CodedOutputStream out = CodedOutputStream.newInstance(bytes);
      for (int n = 0; n < FIELDS; n++) {
        if (row[n] instanceof String) {
          out.writeString(n + 1, (String) row[n]);
        } else if (row[n] instanceof Double) {
          out.writeDouble(n + 1, (Double) row[n]);
        } else {
          out.writeInt32(n + 1, ((Number) row[n]).intValue());
        }
      }
      out.checkNoSpaceLeft();
      return bytes;
    }

    @Override
    public void read(byte[] piece, Each<Object[]> each) throws IOException {
      Object[] row = new Object[FIELDS];
      CodedInputStream in = CodedInputStream.newInstance(piece);
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        int n = (tag >>> 3) - 1;
        switch (tag & 7) {
          case 0:
            row[n] = in.readInt32();
            break;
          case 1:
            row[n] = in.readDouble();
            break;
          default:
            row[n] = in.readStringRequireUtf8();
        }
      }
      each.accept(row);
    }
  }

  /** Each piece of rows that are all there. */
  default void writeAll(Object[][] rows, int size, Each<byte[]> each) throws IOException {
    for (int from = 0; from < rows.length; from += size) {
      each.accept(write(Arrays.copyOfRange(rows, from, Math.min(rows.length, from + size))));
    }
  }
}
