package headrace.spark.rows;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.razorvine.pickle.Pickler;
import net.razorvine.pickle.Unpickler;

/**
 * Times writing and reading rows against pickle, as Spark has it, for the benchmarks.
 *
 * <p>Arguments: the same rows, as tuples, in two streams: without dictionaries and with them; then how many times. Prints JSON:
 * for each way the median of nanoseconds a row, of all threads of the process, so that those of the garbage collector count,
 * and how many bytes a row takes. The ways take turns, and what each gives is compared with the rows at first.
 */
public final class RowBenchmark {
  private static final int PICKLED = 100;
  private static final ByteArrayOutputStream OUT = new ByteArrayOutputStream();

  private RowBenchmark() {}

  private interface Work {
    Object run() throws IOException;
  }

  public static void main(String[] arguments) throws IOException {
    byte[] plain = Files.readAllBytes(Path.of(arguments[0]));
    byte[] coded = Files.readAllBytes(Path.of(arguments[1]));
    Object[][] rows = read(plain);
    List<byte[]> each = pickled(rows, 1);
    List<byte[]> lists = pickled(rows, PICKLED);
    Map<String, Work> ways = new LinkedHashMap<>();
    ways.put("write pickle", () -> pickled(rows, 1));
    ways.put("write pickle of lists", () -> pickled(rows, PICKLED));
    ways.put("write", () -> written(rows));
    ways.put("read pickle", () -> unpickled(each, rows.length));
    ways.put("read pickle of lists", () -> unpickled(lists, rows.length));
    ways.put("read plain", () -> read(plain));
    ways.put("read dictionaries", () -> read(coded));
    ways.forEach((name, way) -> check(name, way, rows));
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("rows", rows.length);
    found.put("ns", medians(ways, rows.length, Integer.parseInt(arguments[2])));
    found.put("bytes", Map.of("write pickle", size(each) / rows.length, "write pickle of lists", size(lists) / rows.length,
        "write", written(rows).size() / rows.length, "read plain", plain.length / rows.length));
    System.out.println(new ObjectMapper().writeValueAsString(found));
  }

  private static long size(List<byte[]> pickles) {
    return pickles.stream().mapToLong(pickle -> pickle.length).sum();
  }

  private static Object[][] read(byte[] data) throws IOException {
    List<Object[]> rows = new ArrayList<>();
    try (RowReader<Object> reader = RowSource.of(data).arrays()) {
      while (reader.next()) {
        rows.add((Object[]) reader.get());
      }
    }
    return rows.toArray(new Object[0][]);
  }

  private static ByteArrayOutputStream written(Object[][] rows) throws IOException {
    OUT.reset();
    try (RowWriter<Object[]> writer = RowSink.to(OUT).arrays()) {
      for (Object[] row : rows) {
        writer.write(row);
      }
      writer.end();
    }
    return OUT;
  }

  /** Args: {@code size} is how many rows are in a pickle; one is not in a list. */
  private static List<byte[]> pickled(Object[][] rows, int size) throws IOException {
    Pickler pickler = new Pickler(true, false);
    List<byte[]> pickles = new ArrayList<>();
    for (int n = 0; n < rows.length; n += size) {
      pickles.add(pickler.dumps(size == 1 ? rows[n] : Arrays.copyOfRange(rows, n, Math.min(rows.length, n + size))));
    }
    return pickles;
  }

  private static Object[][] unpickled(List<byte[]> pickles, int count) throws IOException {
    Unpickler unpickler = new Unpickler();
    Object[][] rows = new Object[count][];
    int n = 0;
    for (byte[] pickle : pickles) {
      Object found = unpickler.loads(pickle);
      if (pickles.size() == count) {
        rows[n++] = (Object[]) found;
      } else {
        for (Object row : (Object[]) found) {
          rows[n++] = (Object[]) row;
        }
      }
    }
    return rows;
  }

  private static void check(String name, Work way, Object[][] rows) {
    try {
      Object given = way.run();
      Object[][] found = null;
      if (given instanceof Object[][]) {
        found = (Object[][]) given;
      } else if (given instanceof ByteArrayOutputStream) {
        found = read(((ByteArrayOutputStream) given).toByteArray());
      } else {
        List<byte[]> pickles = new ArrayList<>();
        ((List<?>) given).forEach(pickle -> pickles.add((byte[]) pickle));
        found = unpickled(pickles, rows.length);
      }
      if (!Arrays.deepEquals(widened(rows), widened(found))) {
        throw new IllegalStateException(name + " does not give the rows");
      }
    } catch (IOException error) {
      throw new IllegalStateException(name, error);
    }
  }

  /** Pickle has integers of two widths. */
  private static Object[][] widened(Object[][] rows) {
    Object[][] wide = new Object[rows.length][];
    for (int n = 0; n < rows.length; n++) {
      wide[n] = rows[n].clone();
      for (int i = 0; i < wide[n].length; i++) {
        wide[n][i] = wide[n][i] instanceof Integer ? Long.valueOf((Integer) wide[n][i]) : wide[n][i];
      }
    }
    return wide;
  }

  /** Nanoseconds of all threads. Java tells those of the process in hundredths of seconds. */
  private static long cpu() throws IOException {
    long sum = 0;
    try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
      for (Path thread : threads) {
        sum += Long.parseLong(Files.readString(thread.resolve("schedstat")).split(" ")[0]);
      }
    }
    return sum;
  }

  private static Map<String, Double> medians(Map<String, Work> ways, int rows, int times) throws IOException {
    Map<String, double[]> taken = new LinkedHashMap<>();
    ways.keySet().forEach(name -> taken.put(name, new double[times]));
    int warm = Math.max(times, 10);
    Object last = null;
    for (int time = -warm; time < times; time++) {
      for (Map.Entry<String, Work> way : ways.entrySet()) {
        last = null;
        long begun = cpu();
        last = way.getValue().run();
        if (time >= 0) {
          taken.get(way.getKey())[time] = (cpu() - begun) / (double) rows;
        }
      }
    }
    Map<String, Double> medians = new LinkedHashMap<>();
    taken.forEach((name, all) -> medians.put(name, Arrays.stream(all).sorted().toArray()[times / 2]));
    return last == null ? Map.of() : medians;
  }
}
