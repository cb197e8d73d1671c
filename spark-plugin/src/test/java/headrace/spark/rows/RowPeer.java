package headrace.spark.rows;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import net.razorvine.pickle.Pickler;
import net.razorvine.pickle.Unpickler;
import org.apache.fory.Fory;
import org.apache.fory.config.Language;

/**
 * The JVM at the other end of a socket, for the benchmarks: it writes and reads rows, as streams or by pickle, as Spark has it.
 *
 * <p>Argument: the port of this machine at which whoever asks listens. They send commands, each with how many rows are in a piece,
 * and how often it is to be done. A piece is a pickle of a row where that is 1, of a list of rows where it is more, a row by Fory
 * where it is 0, and else of a stream of so many rows. Pieces have their length before them, and -1 after the last.
 */
public final class RowPeer {
  private static final int SOCKET_BYTES = 64 << 10;

  private final DataInputStream in;
  private final DataOutputStream out;
  private final ByteArrayOutputStream stream = new ByteArrayOutputStream();
  private final Pickler pickler = new Pickler(true, false);
  private final Unpickler unpickler = new Unpickler();
  private final Fory fory = Fory.builder().withLanguage(Language.JAVA).requireClassRegistration(true).build();
  private Object[][] rows;
  private List<byte[]> pieces;

  private interface Each<T> {
    void accept(T each) throws IOException;
  }

  /** Keeps no row but the last. */
  private static final class Last implements Each<Object[]> {
    private long count;
    private Object[] row;

    @Override
    public void accept(Object[] next) {
      row = next;
      count++;
    }
  }

  private RowPeer(Socket socket) throws IOException {
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), SOCKET_BYTES));
    out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), SOCKET_BYTES));
  }

  public static void main(String[] arguments) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]))) {
      socket.setTcpNoDelay(true);
      RowPeer peer = new RowPeer(socket);
      while (peer.answers()) {
        peer.out.flush();
      }
    }
  }

  private boolean answers() throws IOException {
    String command = in.readUTF();
    int size = in.readInt();
    int times = in.readInt();
    Last last = new Last();
    switch (command) {
      case "hold": // pieces, and the rows in them
        pieces = new ArrayList<>();
        take(pieces::add);
        keep(size);
        out.writeLong(rows.length);
        return true;
      case "keep": // the rows in the pieces that were written
        keep(size);
        out.writeLong(rows.length);
        return true;
      case "write":
        for (int n = 0; n < times; n++) {
          pieces = new ArrayList<>();
          write(size, pieces::add);
        }
        out.writeLong(pieces.stream().mapToLong(piece -> piece.length).sum());
        return true;
      case "read":
        for (int n = 0; n < times; n++) {
          for (byte[] piece : pieces) {
            read(size, piece, last);
          }
        }
        out.writeLong(last.count);
        return true;
      case "take":
        take(piece -> read(size, piece, last));
        out.writeLong(last.count);
        return true;
      case "give":
        write(size, this::give);
        out.writeInt(-1);
        return true;
      case "give pieces":
        for (byte[] piece : pieces) {
          give(piece);
        }
        out.writeInt(-1);
        return true;
      case "end":
        return false;
      default:
        throw new IOException("nobody knows how to " + command);
    }
  }

  private void keep(int size) throws IOException {
    List<Object[]> found = new ArrayList<>();
    for (byte[] piece : pieces) {
      read(size, piece, found::add);
    }
    rows = found.toArray(new Object[0][]);
  }

  private void take(Each<byte[]> each) throws IOException {
    for (int length = in.readInt(); length >= 0; length = in.readInt()) {
      each.accept(in.readNBytes(length));
    }
  }

  private void give(byte[] piece) throws IOException {
    out.writeInt(piece.length);
    out.write(piece);
  }

  private void read(int size, byte[] piece, Each<Object[]> each) throws IOException {
    if (size == 0) {
      each.accept((Object[]) fory.deserialize(piece));
    } else if (size == 1) {
      each.accept((Object[]) unpickler.loads(piece));
    } else if (size > 0) {
      for (Object row : (List<?>) unpickler.loads(piece)) {
        each.accept((Object[]) row);
      }
    } else {
      try (RowReader<Object> reader = RowSource.of(piece).arrays()) {
        while (reader.next()) {
          each.accept((Object[]) reader.get());
        }
      }
    }
  }

  private void write(int size, Each<byte[]> each) throws IOException {
    int step = Math.max(1, Math.abs(size));
    for (int from = 0; from < rows.length; from += step) {
      int to = Math.min(rows.length, from + step);
      if (size == 0) {
        each.accept(fory.serialize(rows[from]));
      } else if (size == 1) {
        each.accept(pickler.dumps(rows[from]));
      } else if (size > 0) {
        each.accept(pickler.dumps(Arrays.copyOfRange(rows, from, to)));
      } else {
        stream.reset();
        try (RowWriter<Object[]> writer = RowSink.to(stream).arrays()) {
          for (int n = from; n < to; n++) {
            writer.write(rows[n]);
          }
          writer.end();
        }
        each.accept(stream.toByteArray());
      }
    }
  }
}
