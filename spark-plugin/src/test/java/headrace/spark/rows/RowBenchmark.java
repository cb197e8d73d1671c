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
import java.util.function.Consumer;
import net.razorvine.pickle.Pickler;
import net.razorvine.pickle.Unpickler;

/**
 * Times writing and reading rows against pickle, as Spark has it, for the benchmarks.
 *
 * <p>Arguments: the same rows, as tuples, in two streams: without dictionaries and with them; then how many times. Prints JSON:
 * for each way the median of nanoseconds a row, of all threads of the process, so that the garbage collector's count, and how
 * many bytes a row takes. The ways take turns, and what each gives is compared with the rows at first. No row is kept.
 */
public final class RowBenchmark {
  private static final int PICKLED = 100;

  /** What is written is written here, each time anew. */
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  private final Object[][] rows;

  private interface Work {
    void run(Consumer<Object> each) throws IOException;
  }

  private RowBenchmark(Object[][] rows) {
    this.rows = rows;
  }

  public static void main(String[] arguments) throws IOException {
    byte[] plain = Files.readAllBytes(Path.of(arguments[0]));
    byte[] coded = Files.readAllBytes(Path.of(arguments[1]));
    int times = Integer.parseInt(arguments[2]);
    List<Object> rows = new ArrayList<>();
    read(plain, rows::add);
    System.out.println(new ObjectMapper().writeValueAsString(new RowBenchmark(rows.toArray(new Object[0][])).run(plain, coded, times)));
  }

  private Map<String, Object> run(byte[] plain, byte[] coded, int times) throws IOException {
    List<byte[]> each = new ArrayList<>();
    pickle(1, pickle -> each.add((byte[]) pickle));
    List<byte[]> lists = new ArrayList<>();
    pickle(PICKLED, pickle -> lists.add((byte[]) pickle));
    write(ignored -> {});
    Map<String, Long> bytes = new LinkedHashMap<>();
    bytes.put("pickle", each.stream().mapToLong(pickle -> pickle.length).sum() / rows.length);
    bytes.put("pickle of lists", lists.stream().mapToLong(pickle -> pickle.length).sum() / rows.length);
    bytes.put("plain", (long) plain.length / rows.length);
    bytes.put("written", (long) out.size() / rows.length);

    Map<String, Work> ways = new LinkedHashMap<>();
    ways.put("read pickle", keep -> unpickle(each, false, keep));
    ways.put("read pickle of lists", keep -> unpickle(lists, true, keep));
    ways.put("read plain", keep -> read(plain, keep));
    ways.put("read dictionaries", keep -> read(coded, keep));
    ways.put("read written", keep -> read(out.toByteArray(), keep));
    for (Map.Entry<String, Work> way : ways.entrySet()) {
      check(way.getKey(), way.getValue());
    }
    ways.remove("read written");
    ways.put("write pickle", keep -> pickle(1, keep));
    ways.put("write pickle of lists", keep -> pickle(PICKLED, keep));
    ways.put("write", this::write);
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("rows", rows.length);
    found.put("ns", medians(ways, times));
    found.put("bytes", bytes);
    return found;
  }

  private static void read(byte[] data, Consumer<Object> each) throws IOException {
    try (RowReader<Object> reader = RowSource.of(data).arrays()) {
      while (reader.next()) {
        each.accept(reader.get());
      }
    }
  }

  private void write(Consumer<Object> each) throws IOException {
    out.reset();
    try (RowWriter<Object[]> writer = RowSink.to(out).arrays()) {
      for (Object[] row : rows) {
        writer.write(row);
      }
      writer.end();
    }
    each.accept(out);
  }

  /** Args: {@code size} is how many rows are in a pickle; one is not in a list. */
  private void pickle(int size, Consumer<Object> each) throws IOException {
    Pickler pickler = new Pickler(true, false);
    for (int n = 0; n < rows.length; n += size) {
      each.accept(pickler.dumps(size == 1 ? rows[n] : Arrays.copyOfRange(rows, n, Math.min(rows.length, n + size))));
    }
  }

  private static void unpickle(List<byte[]> pickles, boolean lists, Consumer<Object> each) throws IOException {
    Unpickler unpickler = new Unpickler();
    for (byte[] pickle : pickles) {
      Object found = unpickler.loads(pickle);
      for (Object row : lists ? (Object[]) found : new Object[] {found}) {
        each.accept(row);
      }
    }
  }

  private void check(String name, Work way) throws IOException {
    List<Object> found = new ArrayList<>();
    way.run(found::add);
    if (!Arrays.deepEquals(widened(rows), widened(found.toArray(new Object[0][])))) {
      throw new IllegalStateException(name + ": these are other rows");
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

  private Map<String, Double> medians(Map<String, Work> ways, int times) throws IOException {
    Map<String, double[]> taken = new LinkedHashMap<>();
    ways.keySet().forEach(name -> taken.put(name, new double[times]));
    Object[] last = new Object[1];
    for (int time = -Math.max(times, 10); time < times; time++) {
      for (Map.Entry<String, Work> way : ways.entrySet()) {
        long begun = cpu();
        way.getValue().run(row -> last[0] = row);
        if (time >= 0) {
          taken.get(way.getKey())[time] = (cpu() - begun) / (double) rows.length;
        }
      }
    }
    Map<String, Double> medians = new LinkedHashMap<>();
    taken.forEach((name, all) -> medians.put(name, Arrays.stream(all).sorted().toArray()[times / 2]));
    return medians;
  }
}
