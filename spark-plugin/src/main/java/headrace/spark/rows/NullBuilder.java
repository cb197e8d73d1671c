package headrace.spark.rows;

/** Nothing but nulls. */
final class NullBuilder extends ColumnBuilder {
  NullBuilder(Field field, String path) {
    super(field, path);
  }

  @Override
  void add(Object value) throws Unfit {
    throw Unfit.of(path, value, "VOID");
  }

  @Override
  void addNull() {}

  @Override
  void truncateValues(int n) {}

  @Override
  long size() {
    return 0;
  }

  @Override
  boolean hasBuffers() {
    return false;
  }

  @Override
  void values(BatchWriter batch) {}
}
