package headrace.spark.rows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;

/** The vectors of testdata/rowcodec, and whether values are those that `text.py` tells. */
final class Vectors {
  static final Path FOLDER = Path.of("..", "testdata", "rowcodec");

  private static final ObjectMapper JSON = new ObjectMapper();

  private Vectors() {}

  static Stream<String> names(String folder, String ending) throws IOException {
    try (Stream<Path> paths = Files.list(FOLDER.resolve(folder))) {
      List<String> names = paths.map(path -> path.getFileName().toString()).filter(name -> name.endsWith(ending)).sorted().toList();
      return names.stream().map(name -> name.substring(0, name.length() - ending.length()));
    }
  }

  static byte[] bytes(String name) throws IOException {
    return Files.readAllBytes(FOLDER.resolve(name + ".arrows"));
  }

  static JsonNode json(String name) throws IOException {
    return JSON.readTree(FOLDER.resolve(name + ".json").toFile());
  }

  static List<JsonNode> rows(String name) throws IOException {
    List<JsonNode> rows = new ArrayList<>();
    for (JsonNode run : json(name)) {
      for (int i = 0; i < run.get(0).asInt(); i++) {
        rows.add(run.get(1));
      }
    }
    return rows;
  }

  static List<Object> all(RowReader<?> reader) throws IOException {
    List<Object> rows = new ArrayList<>();
    while (reader.next()) {
      rows.add(reader.get());
    }
    reader.close();
    return rows;
  }

  /** Whether a row is what was told of it: that of columns is an array. */
  static boolean isRow(JsonNode told, Object row) {
    if (row instanceof Object[] && ((Object[]) row).length == 1 && isValue(told, ((Object[]) row)[0])) {
      return true; // the value of the only column
    }
    if (row instanceof Object[] && told.isObject() && (told.has("list") || told.has("dict") || told.has("record"))) {
      return areEqual(parts(told), Arrays.asList((Object[]) row));
    }
    return isValue(told, row);
  }

  private static List<JsonNode> parts(JsonNode told) {
    List<JsonNode> found = new ArrayList<>();
    for (String kind : List.of("list", "tuple")) {
      told.path(kind).forEach(found::add);
    }
    told.path("dict").forEach(pair -> found.add(pair.get(1)));
    if (told.has("record")) {
      told.get("record").get(2).forEach(pair -> found.add(pair.get(1)));
    }
    return found;
  }

  private static boolean areEqual(List<JsonNode> told, List<?> values) {
    boolean equal = told.size() == values.size();
    for (int i = 0; equal && i < told.size(); i++) {
      equal = isValue(told.get(i), values.get(i));
    }
    return equal;
  }

  static boolean isValue(JsonNode told, Object value) {
    if (told.isNull()) {
      return value == null;
    } else if (told.isBoolean()) {
      return Boolean.valueOf(told.asBoolean()).equals(value);
    } else if (told.isTextual()) {
      return told.asText().equals(value);
    }
    String kind = told.fieldNames().next();
    JsonNode inner = told.get(kind);
    switch (kind) {
      case "str":
        StringBuilder text = new StringBuilder();
        inner.forEach(point -> text.appendCodePoint(point.asInt()));
        return text.toString().equals(value);
      case "int":
        BigInteger number = new BigInteger(inner.asText());
        return number.bitLength() < 64 ? Long.valueOf(number.longValue()).equals(value) : number.equals(value);
      case "float":
        double floating = real(inner.asText());
        return value instanceof Float ? (float) floating == (Float) value : Double.valueOf(floating).equals(value);
      case "bytes":
      case "bytearray":
        return value instanceof byte[] && Arrays.equals(HexFormat.of().parseHex(inner.asText()), (byte[]) value);
      case "date":
        return LocalDate.parse(inner.asText()).equals(value);
      case "datetime":
        return time(inner).equals(value);
      case "timedelta":
        return Duration.ofDays(inner.get(0).asLong())
            .plusSeconds(inner.get(1).asLong())
            .plusNanos(1000 * inner.get(2).asLong())
            .equals(value);
      case "decimal":
        return inner.asText().contains("NaN") ? value.equals(Double.NaN) : new BigDecimal(inner.asText()).equals(value);
      case "uuid":
        return UUID.fromString(inner.asText()).equals(value);
      case "numpy":
        return scalar(inner.get(0).asText(), HexFormat.of().parseHex(inner.get(1).asText())).equals(value);
      case "list":
      case "tuple":
        return value instanceof List && areEqual(parts(told), (List<?>) value)
            || value instanceof Object[] && areEqual(parts(told), Arrays.asList((Object[]) value))
            || value instanceof Row && areEqual(parts(told), values((Row) value));
      case "record":
        return value instanceof Row && areEqual(parts(told), values((Row) value));
      case "dict":
        return value instanceof Row ? areEqual(parts(told), values((Row) value)) : isMap(inner, value);
      default:
        throw new IllegalArgumentException(kind);
    }
  }

  private static boolean isMap(JsonNode told, Object value) {
    if (!(value instanceof Map) || told.size() != ((Map<?, ?>) value).size()) {
      return false;
    }
    int n = 0;
    for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
      JsonNode pair = told.get(n++);
      if (!isValue(pair.get(0), entry.getKey()) || !isValue(pair.get(1), entry.getValue())) {
        return false;
      }
    }
    return true;
  }

  private static List<Object> values(Row row) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < row.length(); i++) {
      values.add(row.get(i));
    }
    return values;
  }

  private static double real(String text) {
    return text.contains("inf") ? (text.startsWith("-") ? -1 : 1) * Double.POSITIVE_INFINITY : Double.parseDouble(text);
  }

  private static Object time(JsonNode told) {
    LocalDateTime local = LocalDateTime.parse(told.get(0).asText());
    JsonNode zone = told.get(2);
    if (zone.isNull()) {
      return local;
    }
    if (zone.has("timezone")) {
      return local.toInstant(ZoneOffset.ofTotalSeconds(zone.get("timezone").get(0).asInt()));
    }
    var time = local.atZone(ZoneId.of(zone.get("zoneinfo").asText()));
    return (told.get(1).asInt() == 1 ? time.withLaterOffsetAtOverlap() : time.withEarlierOffsetAtOverlap()).toInstant();
  }

  private static Object scalar(String code, byte[] raw) {
    ByteBuffer number = ByteBuffer.wrap(Arrays.copyOf(raw, 8)).order(ByteOrder.LITTLE_ENDIAN);
    switch (code) {
      case "|b1":
        return raw[0] != 0;
      case "<f2":
        return raw[1] == 0 ? 0f : raw[1] == 0x3c ? 1f : Float.NaN;
      case "<f4":
        return number.getFloat();
      case "<f8":
        return number.getDouble();
      case "<u8":
        return BigDecimal.valueOf(number.getLong());
      default:
        return number.getLong();
    }
  }
}
