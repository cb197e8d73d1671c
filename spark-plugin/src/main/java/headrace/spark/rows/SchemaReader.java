package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Reads the schema of a message. */
final class SchemaReader {
  private static final Set<String> KEYS = Set.of(Schema.VERSION, Field.PY, "headrace.class", Field.EXTENSION);
  private static final int LONGEST_KEY = 20;
  private static final Set<String> KINDS = Set.of("tuple", "list", "dict", "namedtuple", "dataclass", "row", "value");
  private static final Set<String> CHANGING = Set.of("bytearray", "variant");
  private static final TimeUnit[] UNITS = {TimeUnit.SECONDS, TimeUnit.MILLISECONDS, TimeUnit.MICROSECONDS, TimeUnit.NANOSECONDS};

  /** Fields that may still come, those within others counted; offsets may point to one place many times. */
  private int fields = Schema.MOST_FIELDS;

  private int pairs = 1 << 20;
  private int letters = 64 << 20;

  /** Args: {@code header} is that of a message of the kind schema. */
  static Schema read(Table header) throws HeadraceException {
    SchemaReader reader = new SchemaReader();
    int order = header.int16(0, 0);
    if (order != 0 && order != 1) {
      throw header.damage("the byte order is neither little nor big");
    }
    Schema schema = new Schema(order == 1, reader.fields(header, 1, Schema.DEPTH), reader.told(header, 2));
    check(schema, header);
    return schema;
  }

  private static void check(Schema schema, Table header) throws HeadraceException {
    String version = schema.told.get(Schema.VERSION);
    if (version != null && !version.equals("1")) {
      throw Damage.unsupported(header.at(), "the rows are of a later version of the format");
    }
    String py = schema.told.get(Field.PY);
    if (py != null && !KINDS.contains(py)) {
      throw Damage.unsupported(header.at(), "rows are of an unknown kind");
    }
    if (schema.hasRest()) {
      Field rest = schema.fields.get(schema.fields.size() - 1);
      if (rest.type.kind != ArrowType.Kind.BINARY || rest.coding != null) {
        throw header.damage("the column of rows that do not fit is not binary");
      }
    }
    if ("value".equals(py) && schema.columns().size() != 1) {
      throw header.damage("rows that are values have another number of columns than one");
    }
  }

  private String text(Table table, int slot) throws HeadraceException {
    letters -= table.textLength(slot);
    if (letters < 0) {
      throw table.damage("the names of a schema are too long");
    }
    return table.text(slot);
  }

  private Map<String, String> told(Table table, int slot) throws HeadraceException {
    Map<String, String> found = new HashMap<>();
    Table.Vector entries = table.vector(slot, 4);
    for (int n = 0; n < entries.length; n++) {
      if (--pairs < 0) {
        throw table.damage("the schema has too much metadata");
      }
      Table pair = table.element(entries, n);
      if (pair.textLength(0) <= LONGEST_KEY) {
        String key = text(pair, 0);
        if (KEYS.contains(key) && !found.containsKey(key)) {
          found.put(key, text(pair, 1));
        }
      }
    }
    return found;
  }

  private List<Field> fields(Table table, int slot, int depth) throws HeadraceException {
    List<Field> found = new ArrayList<>();
    Table.Vector entries = table.vector(slot, 4);
    for (int n = 0; n < entries.length; n++) {
      Table field = table.element(entries, n);
      if (depth == 0) {
        throw field.damage("types are nested too deep");
      }
      if (--fields < 0) {
        throw field.damage("the schema has too many fields");
      }
      found.add(field(field, fields(field, 5, depth - 1)));
    }
    return found;
  }

  private Field field(Table table, List<Field> children) throws HeadraceException {
    String name = text(table, 0);
    ArrowType type = type(table, name);
    int wanted = children(type);
    if (wanted >= 0 && wanted != children.size()) {
      throw table.damage("a type has a wrong number of children");
    }
    if (type.kind == ArrowType.Kind.MAP) {
      Field entries = children.get(0);
      if (entries.type.kind != ArrowType.Kind.STRUCT || entries.coding != null || entries.children.size() != 2) {
        throw table.damage("the entries of a map are not a struct of key and value");
      }
    }
    Map<String, String> told = told(table, 6);
    if (type.kind == ArrowType.Kind.STRUCT && told.containsKey(Field.PY) && !KINDS.contains(told.get(Field.PY))) {
      throw Damage.unsupported(table.at(), "rows within rows are of an unknown kind");
    }
    Table dictionary = table.table(4);
    Field.Coding coding = dictionary == null ? null : coding(dictionary);
    if (coding != null && (wanted != 0 || CHANGING.contains(told.getOrDefault(Field.PY, "")))) {
      throw Damage.unsupported(table.at(), "column \"" + name + "\" has a dictionary of values that can be changed");
    }
    return new Field(name, type, table.int8(1, 0) != 0, children, told, coding);
  }

  private static Field.Coding coding(Table table) throws HeadraceException {
    Table index = table.table(1);
    int bits = index == null ? 32 : index.int32(0, 0);
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
      throw table.damage("the indices of a dictionary are no integers of Arrow");
    }
    return new Field.Coding(table.int64(0, 0), bits, index == null || index.int8(1, 0) != 0);
  }

  /** How many children a field has; -1 if it may be any number. */
  private static int children(ArrowType type) {
    switch (type.kind) {
      case STRUCT:
        return -1;
      case LIST:
      case FIXED_LIST:
      case MAP:
        return 1;
      default:
        return 0;
    }
  }

  private static TimeUnit unit(Table type, int otherwise) throws HeadraceException {
    int unit = type.int16(0, otherwise);
    if (unit < 0 || unit >= UNITS.length) {
      throw type.damage("the unit of a time is unknown");
    }
    return UNITS[unit];
  }

  private static int size(Table type) throws HeadraceException {
    int size = type.int32(0, 0);
    if (size < 0) {
      throw type.damage("a size is below zero");
    }
    return size;
  }

  private ArrowType type(Table field, String name) throws HeadraceException {
    int kind = field.int8(2, 0);
    Table type = field.table(3);
    if (type == null && (kind == 2 || kind == 3 || kind >= 7)) {
      throw field.damage("a field has no type");
    }
    switch (kind) {
      case 1:
        return ArrowType.NULL;
      case 2:
        return integer(field, type);
      case 3:
        int precision = type.int16(0, 0);
        if (precision < 0 || precision > 2) {
          throw field.damage("a float has no precision of Arrow's");
        }
        return ArrowType.floating(16 << precision);
      case 4:
        return ArrowType.BINARY;
      case 5:
        return ArrowType.TEXT;
      case 6:
        return ArrowType.BOOL;
      case 7:
        if (type.int32(2, 128) == 128) {
          return decimal(field, type);
        }
        throw unread(field, name, "a decimal of another width than 128 bits");
      case 8:
        if (type.int16(0, 1) == 0) {
          return ArrowType.DATE;
        }
        throw unread(field, name, "a date in milliseconds");
      case 9:
        throw unread(field, name, "a time of day");
      case 10:
        String zone = text(type, 1);
        return ArrowType.timestamp(unit(type, 0), zone.isEmpty() ? null : zone);
      case 11:
        throw unread(field, name, "an interval");
      case 12:
        return ArrowType.LIST;
      case 13:
        return ArrowType.STRUCT;
      case 14:
        throw unread(field, name, "a union");
      case 15:
        return ArrowType.fixed(ArrowType.Kind.FIXED_BINARY, size(type));
      case 16:
        return ArrowType.fixed(ArrowType.Kind.FIXED_LIST, size(type));
      case 17:
        return ArrowType.MAP;
      case 18:
        return ArrowType.duration(unit(type, 1));
      case 19:
        return ArrowType.large(ArrowType.Kind.BINARY);
      case 20:
        return ArrowType.large(ArrowType.Kind.TEXT);
      case 21:
        return ArrowType.large(ArrowType.Kind.LIST);
      case 22:
        throw unread(field, name, "run-end encoded");
      case 23:
      case 24:
        throw unread(field, name, "a view");
      case 25:
      case 26:
        throw unread(field, name, "a view of lists");
      default:
        throw field.damage("a type is unknown");
    }
  }

  private static ArrowType integer(Table field, Table type) throws HeadraceException {
    int bits = type.int32(0, 0);
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
      throw field.damage("an integer has no width of Arrow's");
    }
    return ArrowType.integer(bits, type.int8(1, 0) != 0);
  }

  private static ArrowType decimal(Table field, Table type) throws HeadraceException {
    int precision = type.int32(0, 0);
    int scale = type.int32(1, 0);
    if (precision < 1 || precision > 38 || scale < -1000 || scale > 1000) {
      throw field.damage("a decimal has more digits than it has room for");
    }
    return ArrowType.decimal(precision, scale);
  }

  private static HeadraceException unread(Table field, String name, String what) {
    return Damage.unsupported(field.at(), "column \"" + name + "\" is " + what + ", which no rows are read from");
  }
}
