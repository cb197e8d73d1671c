package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Goes through segments batch by batch, and keeps the dictionaries of the one that it is in. */
final class Segments implements Closeable {
  private final Messages messages;

  /** Null if columns are read as they are. */
  private final StructType asked;

  private final Map<Long, Dictionary> dictionaries = new HashMap<>();

  /** By the ids of dictionaries: what they hold, and as what it is read. */
  private final Map<Long, Column> coded = new HashMap<>();

  private Schema schema;
  private DataType[] types;

  /** Where in the segment each column is that was asked for. */
  private int[] places;

  private StructType type;
  private Column[] columns;
  private Column rest;
  private int rows;
  private long before;

  /** Whether a segment was begun, and has not ended. */
  private boolean open;

  private boolean ended;

  /** After an error nothing is read on. */
  private IOException failure;

  Segments(Input input, StructType asked) {
    this.messages = new Messages(input);
    this.asked = asked;
    this.type = asked;
  }

  Schema schema() {
    return schema;
  }

  /** What was asked for; else the columns of the segment; null before the first. */
  StructType type() {
    return type;
  }

  /** Those of the batch that were asked for. */
  Column[] columns() {
    return columns;
  }

  /** The rows of the batch that do not fit into its columns, as variants; null if there are none. */
  Column rest() {
    return rest;
  }

  int rows() {
    return rows;
  }

  /** How many rows the batches before had. */
  long before() {
    return before;
  }

  /** Go to the next batch; false at the end of the input, which must be that of a segment. */
  boolean next() throws IOException {
    if (failure != null) {
      throw failure;
    }
    before += rows;
    rows = 0;
    while (!ended) {
      if (!open) {
        begin();
      }
      switch (messages.next()) {
        case Messages.END:
          open = false;
          ended = messages.done();
          break;
        case Messages.SCHEMA:
          throw Damage.at(messages.at(), "a schema stands within a stream");
        case Messages.DICTIONARY:
          dictionary();
          break;
        default:
          batch();
          return true;
      }
    }
    return false;
  }

  /** Have nothing more be read after an error, which is given back. */
  IOException failed(IOException error) {
    failure = error;
    rows = 0;
    return error;
  }

  private void begin() throws IOException {
    if (messages.next() != Messages.SCHEMA) {
      throw Damage.at(messages.at(), "a stream does not begin with its schema");
    }
    schema = SchemaReader.read(messages.header());
    dictionaries.clear();
    coded.clear();
    open = true;
    List<Field> fields = schema.columns();
    StructType own = SparkTypes.of(fields);
    types = new DataType[schema.fields.size()];
    for (int i = 0; i < types.length; i++) {
      types[i] = i < fields.size() ? own.apply(i).dataType() : SparkTypes.ANY;
    }
    if (asked == null) {
      type = own;
      places = new int[fields.size()];
      Arrays.setAll(places, i -> i);
    } else {
      place(fields);
    }
    for (int i = 0; i < types.length; i++) {
      gather(schema.fields.get(i), types[i]);
    }
  }

  /** Find the columns that were asked for: by their places where they have no names of their own. */
  private void place(List<Field> fields) throws HeadraceException {
    boolean named = !Schema.isPlaces(schema.told.get(Field.PY));
    if (!named && fields.size() != asked.length()) {
      throw mismatch("rows have " + fields.size() + " columns, and " + asked.length() + " were asked for");
    }
    places = new int[asked.length()];
    if (named) {
      byName(fields);
    } else {
      Arrays.setAll(places, i -> i);
    }
    for (int i = 0; i < places.length; i++) {
      types[places[i]] = SparkTypes.of(fields.get(places[i]), asked.apply(i).dataType());
    }
  }

  /** Columns of one name are found where all of them are asked for: by their order. */
  private void byName(List<Field> fields) throws HeadraceException {
    Map<String, Deque<Integer>> found = new HashMap<>();
    for (int i = 0; i < fields.size(); i++) {
      found.computeIfAbsent(fields.get(i).name, name -> new ArrayDeque<>()).add(i);
    }
    for (int i = 0; i < places.length; i++) {
      String name = asked.apply(i).name();
      Deque<Integer> left = found.get(name);
      if (left == null) {
        throw mismatch("rows have no column \"" + name + "\", which was asked for");
      }
      if (left.isEmpty()) {
        throw mismatch("rows have fewer columns \"" + name + "\" than were asked for");
      }
      places[i] = left.remove();
    }
    for (String name : asked.fieldNames()) {
      if (!found.get(name).isEmpty()) {
        throw mismatch("rows have more columns \"" + name + "\" than were asked for, and none can be told from the others");
      }
    }
  }

  private static HeadraceException mismatch(String what) {
    return new HeadraceException("SCHEMA_MISMATCH", what, "");
  }

  /** Which dictionaries there will be. */
  private void gather(Field field, DataType type) {
    if (field.coding != null) {
      coded.putIfAbsent(field.coding.id, new Column(field.values(), type, 0));
    } else if (field.type.kind != ArrowType.Kind.NULL) {
      for (int i = 0; i < field.children.size(); i++) {
        gather(field.children.get(i), SparkTypes.child(type, field, i));
      }
    }
  }

  private void dictionary() throws HeadraceException {
    Table header = messages.header();
    long id = header.int64(0, 0);
    Column told = coded.get(id);
    if (told == null) {
      throw Damage.at(messages.at(), "a dictionary belongs to no column");
    }
    BatchHead head = messages.arrays();
    DataType[] type = {told.type};
    Column[] values = BatchReader.read(head, List.of(told.field), type, schema.bigEndian, dictionaries);
    boolean delta = header.int8(2, 0) != 0;
    if (!delta || !dictionaries.containsKey(id)) {
      dictionaries.put(id, new Dictionary());
    }
    dictionaries.get(id).add(values[0], head);
  }

  private void batch() throws HeadraceException {
    BatchHead head = messages.arrays();
    Column[] all = BatchReader.read(head, schema.fields, types, schema.bigEndian, dictionaries);
    if (head.rows() > Integer.MAX_VALUE) {
      throw head.damage("a batch has more rows than an array can");
    }
    rows = (int) head.rows();
    columns = new Column[places.length];
    for (int i = 0; i < places.length; i++) {
      columns[i] = all[places[i]];
    }
    Column last = schema.hasRest() ? all[all.length - 1] : null;
    rest = last == null || last.nulls == last.length ? null : last;
  }

  @Override
  public void close() throws IOException {
    messages.close();
  }
}
