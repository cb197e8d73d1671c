package headrace.spark.rows;

import java.util.List;
import java.util.Map;

/** The columns of a segment, and what is told of its rows. */
final class Schema {
  static final String VERSION = "headrace.rows";

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

  /** Whether columns are named by their places alone. */
  static boolean isPlaces(String py) {
    return "tuple".equals(py) || "list".equals(py) || "value".equals(py);
  }
}
