package headrace.spark.rows;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/**
 * The JVM at the other end of a socket, for the benchmarks: it writes and reads rows, in one of several ways.
 *
 * <p>Argument: the port of this machine at which whoever asks listens. They send commands, each with the name of a way ({@link
 * Pieces}), how many rows are in a piece, and how often it is to be done. Pieces have their length before them, and -1 after the
 * last.
 */
public final class RowPeer {
  private static final int SOCKET_BYTES = 64 << 10;

  private final DataInputStream in;
  private final DataOutputStream out;
  private Object[][] rows;
  private List<byte[]> pieces;

  /** Keeps no row but the last. */
  private static final class Last implements Pieces.Each<Object[]> {
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
    String name = in.readUTF();
    int size = in.readInt();
    int times = in.readInt();
    Pieces way = Pieces.of(name, size);
    Last last = new Last();
    switch (command) {
      case "hold": // pieces, and the rows in them
        pieces = new ArrayList<>();
        take(pieces::add);
        keep(way);
        out.writeLong(rows.length);
        return true;
      case "keep": // the rows in the pieces that were written
        keep(way);
        out.writeLong(rows.length);
        return true;
      case "write":
        for (int n = 0; n < times; n++) {
          pieces = new ArrayList<>();
          way.writeAll(rows, size, pieces::add);
        }
        out.writeLong(pieces.stream().mapToLong(piece -> piece.length).sum());
        return true;
      case "read":
        for (int n = 0; n < times; n++) {
          for (byte[] piece : pieces) {
            way.read(piece, last);
          }
        }
        out.writeLong(last.count);
        return true;
      case "take":
        take(piece -> way.read(piece, last));
        out.writeLong(last.count);
        return true;
      case "give":
        way.writeAll(rows, size, this::give);
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

  private void keep(Pieces way) throws IOException {
    List<Object[]> found = new ArrayList<>();
    for (byte[] piece : pieces) {
      way.read(piece, found::add);
    }
    rows = found.toArray(new Object[0][]);
  }

  private void take(Pieces.Each<byte[]> each) throws IOException {
    for (int length = in.readInt(); length >= 0; length = in.readInt()) {
      each.accept(in.readNBytes(length));
    }
  }

  private void give(byte[] piece) throws IOException {
    out.writeInt(piece.length);
    out.write(piece);
  }
}
