package headrace.spark.rows;

/** A value that its column cannot hold. Its row is not written. */
public final class Unfit extends Exception {
  private static final long serialVersionUID = 1;

  /** Whether the batch is full, and the value may fit into the next one. */
  final boolean full;

  private Unfit(String what, boolean full) {
    super(what, null, false, false);
    this.full = full;
  }

  static Unfit full(String column) {
    return new Unfit("column \"" + column + "\": this is more than a batch can hold, which are 2 GiB of a column", true);
  }

  static Unfit of(String column, String what) {
    return new Unfit("column \"" + column + "\": " + what, false);
  }

  static Unfit of(String column, Object value, String type) {
    return of(column, InternalValues.shortened(value) + " is no value of the type " + type);
  }
}
