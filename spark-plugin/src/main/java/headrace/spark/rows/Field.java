package headrace.spark.rows;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A column of a schema, or what is within one. */
final class Field {
  /** Says what Arrow's type does not of a field, or of rows. */
  static final String PY = "headrace.py";

  static final String EXTENSION = "ARROW:extension:name";

  final String name;

  /** With a dictionary, that of its values. */
  final ArrowType type;

  final boolean nullable;
  final List<Field> children;

  /** By the keys that this format knows. */
  final Map<String, String> told;

  /** Null where values are not looked up in one. */
  final Coding coding;

  /** How values are told by their places in a dictionary. */
  static final class Coding {
    final long id;
    final int bits;
    final boolean signed;

    Coding(long id, int bits, boolean signed) {
      this.id = id;
      this.bits = bits;
      this.signed = signed;
    }
  }

  Field(String name, ArrowType type, boolean nullable, List<Field> children, Map<String, String> told, Coding coding) {
    this.name = name;
    this.type = type;
    this.nullable = nullable;
    this.children = children;
    this.told = told;
    this.coding = coding;
  }

  static Field of(String name, ArrowType type) {
    return new Field(name, type, true, List.of(), Map.of(), null);
  }

  Field with(String key, String value) {
    Map<String, String> more = new LinkedHashMap<>(told);
    more.put(key, value);
    return new Field(name, type, nullable, children, more, coding);
  }

  Field of(List<Field> children) {
    return new Field(name, type, nullable, children, told, coding);
  }

  Field required() {
    return new Field(name, type, false, children, told, coding);
  }

  Field coded(Coding coding) {
    return new Field(name, type, nullable, children, told, coding);
  }

  /** What the dictionary of this field holds. */
  Field values() {
    return new Field(name, type, nullable, children, told, null);
  }

  String py() {
    return told.get(PY);
  }

  boolean isVariant() {
    return type.kind == ArrowType.Kind.BINARY && ("variant".equals(py()) || "rest".equals(py()));
  }

  boolean isUuid() {
    return type.kind == ArrowType.Kind.FIXED_BINARY && type.size == 16 && "arrow.uuid".equals(told.get(EXTENSION));
  }
}
