package headrace.spark.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import headrace.spark.HeadraceException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Bytes that were damaged, or made up, are an error: never a crash, never something else. `headrace.fuzzed` says for how many
 * seconds they are made up.
 */
class DamageTest {
  private static final long SECONDS = Long.getLong("headrace.fuzzed", 4);
  private static final long[] EDGES = {0, 1, -1, Integer.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 32};

  /** What a stream of Arrow ends with. */
  private static final byte[] END = {-1, -1, -1, -1, 0, 0, 0, 0};

  private static List<byte[]> seeds;

  @BeforeAll
  static void readSeeds() throws IOException {
    try (Stream<Path> paths = Files.walk(Vectors.FOLDER)) {
      seeds = new ArrayList<>();
      for (Path path : paths.filter(path -> path.toString().endsWith(".arrows")).sorted().toList()) {
        if (Files.size(path) < 20_000) {
          seeds.add(Files.readAllBytes(path));
        }
      }
    }
    assertTrue(seeds.size() > 60);
  }

  /** Whether bytes are read. Args: {@code generated} is whether by generated classes, too. */
  private static boolean read(byte[] data, boolean generated) throws IOException {
    boolean sound = reads(() -> look(Vectors.all(RowSource.of(data).arrays())));
    assertEquals(sound, reads(() -> look(Vectors.all(RowSource.of(new ByteArrayInputStream(data)).rows()))));
    boolean columnar = reads(() -> readBatches(data));
    assertTrue(sound || !columnar);
    if (generated) {
      assertEquals(sound, reads(() -> readGenerated(data)));
    }
    return sound;
  }

  private interface Reading {
    void read() throws IOException;
  }

  private static boolean reads(Reading reading) throws IOException {
    try {
      reading.read();
      return true;
    } catch (HeadraceException error) {
      assertTrue(List.of("BAD_DATA", "UNSUPPORTED", "SCHEMA_MISMATCH").contains(error.code()), error.code());
      return false;
    }
  }

  /** What was made is whole: all of it can be looked at. */
  private static void look(List<Object> rows) {
    assertTrue(Arrays.deepToString(rows.subList(0, Math.min(100, rows.size())).toArray()).length() > 0);
  }

  private static void readGenerated(byte[] data) throws IOException {
    Segments segments = new Segments(new Input(data), null);
    while (segments.next()) {
      Object[] rows = new Object[segments.rows()];
      RowMaker.Buffers buffers = new RowMaker.Buffers(segments.columns(), Nested.JAVA);
      RowMakers.of(segments.columns(), 1 << 20).make(buffers, 0, rows.length, rows);
      for (int n = 0; segments.rest() != null && n < rows.length; n++) {
        rows[n] = segments.rest().isNull(n) ? rows[n] : Variant.read(segments.rest(), n, Nested.JAVA);
      }
      look(Arrays.asList(rows));
    }
  }

  private static void readBatches(byte[] data) throws IOException {
    Segments segments = new Segments(new Input(data), null);
    PartitionReader<ColumnarBatch> reader = new ColumnReader(segments);
    while (reader.next()) {
      ColumnarBatch batch = reader.get();
      for (int n = 0; n < Math.min(2000, batch.numRows()); n++) {
        look(batch.getRow(n), segments.type());
      }
    }
  }

  private static void look(InternalRow row, StructType type) {
    for (int i = 0; i < type.length(); i++) {
      if (!row.isNullAt(i)) {
        look(row.get(i, type.apply(i).dataType()), type.apply(i).dataType());
      }
    }
  }

  private static void look(Object value, DataType type) {
    if (value instanceof UTF8String) {
      assertTrue(((UTF8String) value).toString().length() >= 0);
    } else if (type instanceof StructType) {
      look((InternalRow) value, (StructType) type);
    } else if (type instanceof ArrayType) {
      look((ArrayData) value, ((ArrayType) type).elementType());
    } else if (type instanceof MapType) {
      look(((MapData) value).keyArray(), ((MapType) type).keyType());
      look(((MapData) value).valueArray(), ((MapType) type).valueType());
    }
  }

  private static void look(ArrayData values, DataType type) {
    for (int i = 0; i < Math.min(2000, values.numElements()); i++) {
      if (!values.isNullAt(i)) {
        look(values.get(i, type), type);
      }
    }
  }

  @Test
  void everyCutIsAnError() throws IOException {
    for (byte[] data : seeds) {
      for (int end = 0; end < data.length; end += Math.max(1, data.length / 50)) {
        byte[] cut = Arrays.copyOf(data, end);
        boolean sound = read(cut, false);
        // Some have more behind their end.
        boolean isWhole = end >= END.length && Arrays.equals(END, Arrays.copyOfRange(cut, end - END.length, end));
        assertTrue(isWhole || !sound);
      }
    }
  }

  /** Each byte of small streams, by turns, as it could be. */
  @Test
  void everyByteMayBeAnother() throws IOException {
    for (byte[] data : seeds) {
      for (int n = 0; n < data.length && data.length < 700; n++) {
        for (int value : new int[] {0, 0xff, data[n] ^ 0x80, data[n] ^ 1}) {
          byte[] other = data.clone();
          other[n] = (byte) value;
          read(other, false);
        }
      }
    }
  }

  @Test
  void anythingMayComeForSomeSeconds() throws IOException {
    Random random = new Random(20131);
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    int sound = 0;
    int count = 0;
    for (; System.nanoTime() < end; count++) {
      byte[] data = seeds.get(random.nextInt(seeds.size()));
      for (int i = random.nextInt(6); i >= 0 && data.length > 0; i--) {
        data = changed(data, random);
      }
      sound += read(data, random.nextInt(8) == 0) ? 1 : 0;
    }
    assertTrue(count > sound && sound > 0, count + " streams, " + sound + " of them sound");
  }

  private static byte[] changed(byte[] data, Random random) {
    byte[] found = data.clone();
    int at = random.nextInt(data.length);
    switch (random.nextInt(6)) {
      case 0:
        found[at] = (byte) random.nextInt();
        return found;
      case 1:
        long edge = random.nextInt(9) == 0 ? data.length : EDGES[random.nextInt(EDGES.length)];
        byte[] eight = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(edge).array();
        System.arraycopy(eight, 0, found, at, Math.min(8, found.length - at));
        return found;
      case 2:
        byte[] four = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt((int) EDGES[random.nextInt(7)]).array();
        at = at / 4 * 4;
        System.arraycopy(four, 0, found, at, Math.min(4, found.length - at));
        return found;
      case 3:
        int cut = Math.min(data.length - at, 1 + random.nextInt(16));
        return joined(Arrays.copyOf(data, at), new byte[0], Arrays.copyOfRange(data, at + cut, data.length));
      case 4:
        byte[] more = new byte[1 + random.nextInt(16)];
        random.nextBytes(more);
        return joined(Arrays.copyOf(data, at), more, Arrays.copyOfRange(data, at, data.length));
      default:
        byte[] other = seeds.get(random.nextInt(seeds.size()));
        byte[] part = Arrays.copyOf(other, random.nextInt(other.length));
        return joined(Arrays.copyOf(data, at), part, Arrays.copyOfRange(data, at, data.length));
    }
  }

  private static byte[] joined(byte[] first, byte[] second, byte[] third) {
    return ByteBuffer.allocate(first.length + second.length + third.length).put(first).put(second).put(third).array();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 7, 8, 100})
  void onesAreNoStream(int count) {
    byte[] data = new byte[count];
    Arrays.fill(data, (byte) -1);
    RowReader<Object> reader = RowSource.of(data).arrays();
    assertEquals("BAD_DATA", assertThrows(HeadraceException.class, reader::next).code());
  }

  /** What a length says is not believed before so many bytes have come. */
  @Test
  void lengthsTakeNoMemory() throws IOException {
    byte[] data = Vectors.bytes("tuples");
    ByteBuffer frame = ByteBuffer.wrap(data.clone()).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(4, Integer.MAX_VALUE - 8);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    RowReader<Object> reader = RowSource.of(new ByteArrayInputStream(frame.array())).arrays();
    long before = threads.getCurrentThreadAllocatedBytes();
    assertThrows(HeadraceException.class, reader::next);
    long more = threads.getCurrentThreadAllocatedBytes() - before;
    assertTrue(more < 4 << 20, more + " bytes");
  }
}
