package headrace.spark.rows;

import org.apache.spark.sql.types.DataType;

/** Takes rows apart, and puts their values into columns. Its classes are generated, as those of {@link RowMaker}. */
public abstract class RowTaker {
  private DataType[] types;

  final RowTaker with(ColumnBuilder[] columns, DataType[] types) {
    this.types = types;
    bind(columns);
    return this;
  }

  /** What a column is to Spark. */
  public final DataType type(int column) {
    return types[column];
  }

  /** Have values be put into these. */
  public abstract void bind(ColumnBuilder[] columns);

  /** Args: {@code row} has as many values as there are columns. */
  public abstract void take(Object row) throws Unfit;
}
