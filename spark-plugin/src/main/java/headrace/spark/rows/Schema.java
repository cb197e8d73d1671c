package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.util.List;
import java.util.Map;

/** The columns of a segment, and what is told of its rows. */
final class Schema {
  static final String VERSION = "headrace.rows";

  /** So deep are types nested at most. */
  static final int DEPTH = 64;

  /** So many fields there are at most, with those within others. */
  static final int MOST_FIELDS = 65_536;

  final boolean bigEndian;
  final List<Field> fields;
  final Map<String, String> told;

  Schema(boolean bigEndian, List<Field> fields, Map<String, String> told) {
    this.bigEndian = bigEndian;
    this.fields = fields;
    this.told = told;
  }

  /** Whether the last column holds the rows that do not fit into the others. */
  boolean hasRest() {
    return !fields.isEmpty() && "rest".equals(fields.get(fields.size() - 1).py());
  }

  /** The columns without that of rows that do not fit. */
  List<Field> columns() {
    return hasRest() ? fields.subList(0, fields.size() - 1) : fields;
  }

  /** Throw where no reader would take columns. */
  static void admit(List<Field> fields) throws HeadraceException {
    int count = 0;
    for (Field field : fields) {
      if (levels(field) > DEPTH) {
        throw unsupported("column \"" + field.name + "\" is nested more than " + DEPTH + " deep");
      }
      count += count(field);
    }
    if (count > MOST_FIELDS) {
      throw unsupported("rows have " + count + " columns, with those within others, and " + MOST_FIELDS + " are the most");
    }
  }

  private static int levels(Field field) {
    return 1 + field.children.stream().mapToInt(Schema::levels).max().orElse(0);
  }

  private static int count(Field field) {
    return 1 + field.children.stream().mapToInt(Schema::count).sum();
  }

  private static HeadraceException unsupported(String what) {
    return new HeadraceException("UNSUPPORTED", what, "");
  }

  /** Whether columns are named by their places alone. */
  static boolean isPlaces(String py) {
    return "tuple".equals(py) || "list".equals(py) || "value".equals(py);
  }
}
