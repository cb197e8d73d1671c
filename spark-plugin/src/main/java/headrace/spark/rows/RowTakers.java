package headrace.spark.rows;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;

/** Writes the classes of row takers. */
final class RowTakers {
  /** HotSpot compiles no method of more than 8,000 bytes, and is slow at long ones. */
  private static final int COLUMNS = 16;

  private static final Generated<RowTaker> CLASSES = new Generated<>(RowTaker.class);

  private final Class<?> row;
  private final ColumnBuilder[] columns;
  private final DataType[] types;

  /** Args: {@code row} is what rows are: `Object[]`, `Row` or `InternalRow`. */
  RowTakers(Class<?> row, ColumnBuilder[] columns, DataType[] types) {
    this.row = row;
    this.columns = columns;
    this.types = types;
  }

  /** A row taker for so many rows more; null as long as too few were of their layout for a class to pay. */
  RowTaker get(int rows) {
    StringBuilder layout = new StringBuilder(row.getSimpleName());
    for (int i = 0; i < columns.length; i++) {
      layout.append(',').append(columns[i].getClass().getSimpleName()).append(types[i].getClass().getSimpleName());
    }
    RowTaker found = CLASSES.get(layout.toString(), rows, this::source);
    return found == null ? null : found.with(columns, types);
  }

  /** As a class would, but for any layout. */
  RowTaker plain() {
    return new Plain(row).with(columns, types);
  }

  private static final class Plain extends RowTaker {
    private final Class<?> kind;
    private ColumnBuilder[] columns;

    Plain(Class<?> kind) {
      this.kind = kind;
    }

    @Override
    public void bind(ColumnBuilder[] columns) {
      this.columns = columns;
    }

    @Override
    public void take(Object row) throws Unfit {
      if (kind == InternalRow.class) {
        InternalRow internal = (InternalRow) row;
        for (int i = 0; i < columns.length; i++) {
          columns[i].putInternal(internal.isNullAt(i) ? null : internal.get(i, type(i)));
        }
      } else {
        for (int i = 0; i < columns.length; i++) {
          columns[i].put(kind == Row.class ? ((Row) row).get(i) : ((Object[]) row)[i]);
        }
      }
    }
  }

  private String source() {
    StringBuilder fields = new StringBuilder();
    StringBuilder bind = new StringBuilder();
    StringBuilder methods = new StringBuilder();
    StringBuilder calls = new StringBuilder();
    for (int i = 0; i < columns.length; i++) {
      String type = columns[i] instanceof LongBuilder || columns[i] instanceof FixedBuilder || columns[i] instanceof TextBuilder
          ? columns[i].getClass().getName()
          : ColumnBuilder.class.getName();
      fields.append("private " + type + " c" + i + ";\n");
      bind.append("c" + i + " = (" + type + ") columns[" + i + "];\n");
    }
    String rows = row == Object[].class ? "Object[]" : row.getName();
    for (int first = 0; first < columns.length; first += COLUMNS) {
      methods.append("private void part" + first + "(" + rows + " r) throws headrace.spark.rows.Unfit {\nObject o;\n");
      calls.append("part" + first + "((" + rows + ") row);\n");
      for (int i = first; i < Math.min(columns.length, first + COLUMNS); i++) {
        methods.append((row == InternalRow.class ? internal(i) : external(i)).replace("#", "" + i));
      }
      methods.append("}\n");
    }
    return fields + "public void bind(headrace.spark.rows.ColumnBuilder[] columns) {\n" + bind + "}\n" + methods
        + "public void take(Object row) throws headrace.spark.rows.Unfit {\n" + calls + "}\n";
  }

  private String external(int i) {
    String next = row == Row.class ? "o = r.get(#);\n" : "o = r[#];\n";
    if (SparkTypes.bits(types[i]) == 64) {
      return next + "if (o instanceof Long) c#.add(((Long) o).longValue());\n"
          + "else if (o instanceof Integer) c#.add(((Integer) o).longValue());\nelse c#.put(o);\n";
    } else if (SparkTypes.bits(types[i]) == 32) {
      return next + "if (o instanceof Integer) c#.add(((Integer) o).longValue()); else c#.put(o);\n";
    } else if (types[i] instanceof DoubleType) {
      return next + "if (o instanceof Double) c#.add(((Double) o).doubleValue()); else c#.put(o);\n";
    } else if (isText(i)) {
      return next + "if (o instanceof String) c#.add((String) o); else c#.put(o);\n";
    }
    return next + "c#.put(o);\n";
  }

  private boolean isText(int i) {
    return columns[i].field.type.kind == ArrowType.Kind.TEXT;
  }

  private String internal(int i) {
    String call = "c#.putInternal(r.get(#, type(#)))";
    int bits = SparkTypes.bits(types[i]);
    if (bits > 0) {
      call = "c#.add((long) r." + (bits == 64 ? "getLong" : bits == 32 ? "getInt" : bits == 16 ? "getShort" : "getByte") + "(#))";
    } else if (types[i] instanceof DateType) {
      call = "c#.addInternal((long) r.getInt(#))";
    } else if (columns[i] instanceof LongBuilder) {
      call = "c#.addInternal(r.getLong(#))";
    } else if (types[i] instanceof DoubleType) {
      call = "c#.add(r.getDouble(#))";
    } else if (types[i] instanceof FloatType) {
      call = "c#.add(r.getFloat(#))";
    } else if (isText(i)) {
      call = "c#.add(r.getUTF8String(#))";
    }
    return "if (r.isNullAt(#)) c#.putNull(); else " + call + ";\n";
  }
}
