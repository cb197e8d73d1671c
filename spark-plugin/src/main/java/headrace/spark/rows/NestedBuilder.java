package headrace.spark.rows;

import java.util.function.Consumer;
import org.apache.spark.sql.types.DataType;

/** Values that have values of other columns within them. */
abstract class NestedBuilder extends ColumnBuilder {
  final ColumnBuilder[] parts;

  /** What the parts are to Spark. */
  final DataType[] types;

  NestedBuilder(Field field, String path, ColumnBuilder[] parts, DataType[] types) {
    super(field, path);
    this.parts = parts;
    this.types = types;
  }

  @Override
  void clear() {
    super.clear();
    for (ColumnBuilder part : parts) {
      part.clear();
    }
  }

  @Override
  long size() {
    long size = 0;
    for (ColumnBuilder part : parts) {
      size += part.size();
    }
    return size;
  }

  @Override
  void settle(StringBuilder signature) {
    for (ColumnBuilder part : parts) {
      part.settle(signature);
    }
  }

  @Override
  void dictionaries(Consumer<TextBuilder> each) {
    for (ColumnBuilder part : parts) {
      part.dictionaries(each);
    }
  }
}
