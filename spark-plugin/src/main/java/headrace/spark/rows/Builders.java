package headrace.spark.rows;

import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;

/** Makes the builders of columns. */
final class Builders {
  private Builders() {}

  /** Args: {@code coding} is whether texts begin with a dictionary. */
  static ColumnBuilder of(Field field, DataType type, String path, boolean coding) {
    switch (field.type.kind) {
      case NULL:
        return new NullBuilder(field, path);
      case BOOL:
        return new BitBuilder(field, path);
      case INT:
      case DATE:
      case TIMESTAMP:
      case DURATION:
        return new LongBuilder(field, path, SparkTypes.most(type), type.sql());
      case TEXT:
      case BINARY:
        return new TextBuilder(field, path, coding);
      case LIST:
        return list(field, field.children, type, path, coding);
      case MAP:
        return list(field, field.children.get(0).children, type, path, coding);
      case STRUCT:
        DataType[] types = new DataType[field.children.size()];
        ColumnBuilder[] parts = new ColumnBuilder[types.length];
        for (int i = 0; i < parts.length; i++) {
          types[i] = SparkTypes.child(type, field, i);
          parts[i] = of(field.children.get(i), types[i], path + "." + field.children.get(i).name, coding);
        }
        return new StructBuilder(field, path, parts, types);
      default:
        return new FixedBuilder(field, path, type.sql());
    }
  }

  private static ColumnBuilder list(Field field, List<Field> of, DataType type, String path, boolean coding) {
    DataType[] types = new DataType[of.size()];
    ColumnBuilder[] parts = new ColumnBuilder[types.length];
    for (int i = 0; i < parts.length; i++) {
      types[i] = type instanceof MapType ? SparkTypes.part((MapType) type, i) : SparkTypes.child(type, field, i);
      parts[i] = of(of.get(i), types[i], path + "." + of.get(i).name, coding);
    }
    return new ListBuilder(field, path, parts, types);
  }
}
