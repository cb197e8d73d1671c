package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.Row;

/** The columns that values fit into. */
final class Inferred {
  private static final int DIGITS = 38;
  private static final int DEPTH = 64;

  private Inferred() {}

  /** Those of the first rows: each is of the type of the first value that is not null, and what is within it. */
  static List<Field> columns(List<Object[]> rows) throws HeadraceException {
    int count = rows.isEmpty() ? 0 : rows.get(0).length;
    List<Field> fields = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Field field = Field.of("_" + (i + 1), ArrowType.NULL);
      for (Object[] row : rows) {
        field = i < row.length ? filled(field, row[i], field.name, DEPTH) : field;
      }
      fields.add(field);
    }
    return fields;
  }

  /** A field, and where nothing but nulls have been seen of it, or of what is within it, what a value tells. */
  private static Field filled(Field field, Object value, String path, int depth) throws HeadraceException {
    if (value == null || field.type.kind != ArrowType.Kind.NULL && field.children.isEmpty()) {
      return field;
    }
    Field found = field.type.kind == ArrowType.Kind.NULL ? of(field, value, path) : field;
    if (depth == 0) {
      throw new HeadraceException("UNSUPPORTED", "column \"" + path + "\" has values nested more than 64 deep", "");
    }
    switch (found.type.kind) {
      case LIST:
        Object[] values = value instanceof List ? ((List<?>) value).toArray() : ScalaNested.values(value);
        return values == null ? found : found.of(List.of(filled(found.children.get(0), values, 0, 1, path, depth)));
      case MAP:
        Object[] entries = entries(value);
        if (entries == null) {
          return found;
        }
        List<Field> parts = found.children.get(0).children;
        Field key = filled(parts.get(0), entries, 0, 2, path, depth);
        Field item = filled(parts.get(1), entries, 1, 2, path, depth);
        return found.of(List.of(found.children.get(0).of(List.of(key, item))));
      case STRUCT:
        Object[] fields = fields(value);
        if (fields == null || fields.length != found.children.size()) {
          return found;
        }
        List<Field> children = new ArrayList<>();
        for (int i = 0; i < fields.length; i++) {
          children.add(filled(found.children.get(i), fields[i], path + "." + found.children.get(i).name, depth - 1));
        }
        return found.of(children);
      default:
        return found;
    }
  }

  private static Field filled(Field field, Object[] values, int from, int step, String path, int depth) throws HeadraceException {
    Field found = field;
    for (int i = from; i < values.length; i += step) {
      found = filled(found, values[i], path + "." + field.name, depth - 1);
    }
    return found;
  }

  private static Object[] entries(Object value) {
    if (!(value instanceof Map)) {
      return ScalaNested.entries(value);
    }
    List<Object> entries = new ArrayList<>();
    ((Map<?, ?>) value).forEach((key, item) -> entries.addAll(java.util.Arrays.asList(key, item)));
    return entries.toArray();
  }

  private static Object[] fields(Object value) {
    if (!(value instanceof Row)) {
      return value instanceof Object[] ? (Object[]) value : null;
    }
    Object[] fields = new Object[((Row) value).length()];
    java.util.Arrays.setAll(fields, i -> ((Row) value).get(i));
    return fields;
  }

  /** As the field, of the type of a value; what is within it is not known yet. */
  private static Field of(Field field, Object value, String path) throws HeadraceException {
    Field child = Field.of("item", ArrowType.NULL);
    if (value instanceof Boolean) {
      return typed(field, ArrowType.BOOL);
    } else if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
      return typed(field, ArrowType.integer(8, true));
    } else if (value instanceof Double) {
      return typed(field, ArrowType.floating(64));
    } else if (value instanceof Float) {
      return typed(field, ArrowType.floating(32));
    } else if (value instanceof String) {
      return typed(field, ArrowType.TEXT);
    } else if (value instanceof byte[]) {
      return typed(field, ArrowType.BINARY);
    } else if (value instanceof LocalDate || value instanceof Date) {
      return typed(field, ArrowType.DATE);
    } else if (value instanceof LocalDateTime) {
      return typed(field, ArrowType.timestamp(TimeUnit.MICROSECONDS, null));
    } else if (value instanceof Instant || value instanceof Timestamp) {
      return typed(field, ArrowType.timestamp(TimeUnit.MICROSECONDS, "UTC")).with(Field.PY, "timezone");
    } else if (value instanceof Duration) {
      return typed(field, ArrowType.duration(TimeUnit.MICROSECONDS));
    } else if (value instanceof BigDecimal || value instanceof scala.math.BigDecimal) {
      int scale = value instanceof BigDecimal ? ((BigDecimal) value).scale() : ((scala.math.BigDecimal) value).scale();
      return typed(field, ArrowType.decimal(DIGITS, Math.min(DIGITS, Math.max(0, scale))));
    } else if (value instanceof UUID) {
      return typed(field, ArrowType.fixed(ArrowType.Kind.FIXED_BINARY, 16))
          .with(Field.EXTENSION, "arrow.uuid")
          .with("ARROW:extension:metadata", "");
    } else if (value instanceof List || ScalaNested.values(value) != null) {
      return typed(field, ArrowType.LIST).of(List.of(child));
    } else if (value instanceof Map || ScalaNested.entries(value) != null) {
      Field key = Field.of("key", ArrowType.NULL).required();
      Field entries = Field.of("entries", ArrowType.STRUCT).required();
      return typed(field, ArrowType.MAP).of(List.of(entries.of(List.of(key, Field.of("value", ArrowType.NULL)))));
    } else if (value instanceof Row && ((Row) value).schema() != null || value instanceof Object[]) {
      List<Field> children = new ArrayList<>();
      for (int i = 0; i < fields(value).length; i++) {
        String name = value instanceof Row ? ((Row) value).schema().fieldNames()[i] : "_" + (i + 1);
        children.add(Field.of(name, ArrowType.NULL));
      }
      return typed(field, ArrowType.STRUCT).with(Field.PY, value instanceof Row ? "row" : "tuple").of(children);
    }
    throw new HeadraceException(
        "UNSUPPORTED", "column \"" + path + "\": no column holds " + InternalValues.shortened(value) + "; give a schema", "");
  }

  private static Field typed(Field field, ArrowType type) {
    return new Field(field.name, type, field.nullable, field.children, field.told, null);
  }
}
