package headrace.spark.rows;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.LongType;

/** Writes the classes of row makers. */
final class RowMakers {
  /** HotSpot compiles no method of more than 8,000 bytes, and is slow at long ones. */
  private static final int COLUMNS = 16;

  private static final Generated<RowMaker> CLASSES = new Generated<>(RowMaker.class);

  private RowMakers() {}

  /** A row maker for a batch; null as long as too few rows were of its layout for a class to pay. */
  static RowMaker of(Column[] columns, int rows) {
    StringBuilder layout = new StringBuilder(columns.length);
    for (Column column : columns) {
      layout.append(code(column));
    }
    return CLASSES.get(layout.toString(), rows, () -> source(columns));
  }

  /** How a column is read, by a letter. */
  private static char code(Column column) {
    if (column.dictionary != null) {
      return (char) ('0' + column.width + (column.field.coding.signed ? 0 : 10));
    }
    DataType type = column.type;
    switch (column.field.type.kind) {
      case NULL:
        return 'N';
      case BOOL:
        return 'B';
      case INT:
        return type instanceof LongType ? (char) ('a' + column.width + (column.field.type.signed ? 0 : 10)) : '?';
      case FLOAT:
        return type instanceof DoubleType && column.width == 8 ? 'D' : '?';
      case TEXT:
        return 'T';
      default:
        return '?';
    }
  }

  private static String source(Column[] columns) {
    StringBuilder source = new StringBuilder();
    StringBuilder parts = new StringBuilder();
    for (int first = 0; first == 0 || first < columns.length; first += COLUMNS) {
      if (first > 0) {
        parts.append("part").append(first).append("(b, from, to, out);\n");
      }
      source.append(first == 0 ? "public void make" : "private void part" + first)
          .append("(headrace.spark.rows.RowMaker.Buffers b, int from, int to, Object[] out)")
          .append(" throws headrace.spark.HeadraceException {\n");
      int end = Math.min(columns.length, first + COLUMNS);
      StringBuilder loop = new StringBuilder();
      for (int i = first; i < end; i++) {
        column(columns[i], i, source, loop);
      }
      source.append("for (int i = from; i < to; i++) {\nObject[] r = ")
          .append(first == 0 ? "new Object[" + columns.length + "];\nout[i - from] = r;\n" : "(Object[]) out[i - from];\n")
          .append(loop)
          .append("}\n")
          .append(first == 0 ? "%parts%" : "")
          .append("}\n");
    }
    return source.toString().replace("%parts%", parts);
  }

  /** Args: what stands before the loop over rows goes into {@code before}, what is done for each into {@code loop}. */
  private static void column(Column column, int n, StringBuilder before, StringBuilder loop) {
    char code = code(column);
    if (code == 'N') {
      return;
    }
    if (code == '?') {
      loop.append("r[" + n + "] = b.get(" + n + ", i);\n");
      return;
    }
    before.append("byte[] n# = b.validity[#]; int m# = b.validityBegin[#]; byte[] v# = b.values[#]; long a# = b.valuesAt[#];\n"
        .replace("#", "" + n));
    String value;
    if (column.dictionary != null) {
      before.append("Object[] d# = b.dictionaries[#];\n".replace("#", "" + n));
      value = "d#[(int) " + integer(column.width, column.field.coding.signed) + "]";
    } else if (code == 'B') {
      value = "Boolean.valueOf((Platform.getByte(v#, a# + (i >> 3)) >> (i & 7) & 1) != 0)";
    } else if (code == 'D') {
      value = "Double.valueOf(Platform.getDouble(v#, a# + 8L * i))";
    } else if (code == 'T') {
      before.append("byte[] t# = b.bytes[#]; int o# = b.bytesBegin[#]; boolean s# = b.ascii[#];\n".replace("#", "" + n));
      value = "text(s#, t#, o# + Platform.getInt(v#, a# + 4L * i), o# + Platform.getInt(v#, a# + 4L * i + 4L))";
    } else {
      value = "Long.valueOf(" + integer(column.width, column.field.type.signed) + ")";
    }
    loop.append(("if (n# == null || (n#[m# + (i >> 3)] >> (i & 7) & 1) != 0) r[#] = " + value + ";\n").replace("#", "" + n));
  }

  /** The i-th integer of a column, as a long. */
  private static String integer(int width, boolean signed) {
    switch (width) {
      case 1:
        return "((long) Platform.getByte(v#, a# + i)" + (signed ? ")" : " & 0xffL)");
      case 2:
        return "((long) Platform.getShort(v#, a# + 2L * i)" + (signed ? ")" : " & 0xffffL)");
      case 4:
        return "((long) Platform.getInt(v#, a# + 4L * i)" + (signed ? ")" : " & 0xffffffffL)");
      default:
        return "Platform.getLong(v#, a# + 8L * i)";
    }
  }
}
