package headrace.spark.rows;

import java.util.List;
import java.util.Map;

/** Writes schemas as messages: those of the writer, whose times are in microseconds and whose offsets have 32 bits. */
final class SchemaWriter {
  private static final int MICROSECONDS = 2;

  private final FlatbufferWriter out = new FlatbufferWriter();

  static FlatbufferWriter write(Schema schema) {
    SchemaWriter writer = new SchemaWriter();
    writer.schema(schema);
    return writer.out;
  }

  private void schema(Schema schema) {
    out.table(4);
    out.int16(Messages.V5);
    out.int8(Messages.SCHEMA);
    int header = out.offset();
    out.skip();
    out.pointToTable(header, 3);
    out.table(3);
    out.int16(schema.bigEndian ? 1 : 0);
    int fields = out.offset();
    int told = schema.told.isEmpty() ? skipped() : out.offset();
    fields(fields, schema.fields);
    told(told, schema.told);
  }

  private int skipped() {
    out.skip();
    return -1;
  }

  private void told(int from, Map<String, String> told) {
    if (told.isEmpty()) {
      return;
    }
    int start = out.offsets(from, told.size());
    for (Map.Entry<String, String> entry : told.entrySet()) {
      out.pointToTable(start, 2);
      start += 4;
      out.table(2);
      int key = out.offset();
      int value = out.offset();
      out.text(key, entry.getKey());
      out.text(value, entry.getValue());
    }
  }

  private void fields(int from, List<Field> fields) {
    int start = out.offsets(from, fields.size());
    for (Field field : fields) {
      out.pointToTable(start, 7);
      start += 4;
      field(field);
    }
  }

  private void field(Field field) {
    out.table(7);
    int name = out.offset();
    out.int8(field.nullable ? 1 : 0);
    out.int8(field.type.kind.number);
    int type = out.offset();
    int coding = field.coding == null ? skipped() : out.offset();
    int children = out.offset();
    int told = field.told.isEmpty() ? skipped() : out.offset();
    out.text(name, field.name);
    type(type, field.type);
    if (field.coding != null) {
      out.pointToTable(coding, 3);
      out.table(3);
      out.int64(field.coding.id);
      int index = out.offset();
      out.int8(0);
      type(index, ArrowType.integer(field.coding.bits, field.coding.signed));
    }
    fields(children, field.children);
    told(told, field.told);
  }

  private void type(int from, ArrowType type) {
    switch (type.kind) {
      case TIMESTAMP:
        out.pointToTable(from, 2);
        out.table(2);
        out.int16(MICROSECONDS);
        int zone = type.zone == null ? skipped() : out.offset();
        if (type.zone != null) {
          out.text(zone, type.zone);
        }
        break;
      case DECIMAL:
        out.pointToTable(from, 3);
        out.table(3);
        out.int32(type.precision);
        out.int32(type.scale);
        out.int32(128);
        break;
      case INT:
        out.pointToTable(from, 2);
        out.table(2);
        out.int32(type.bits);
        out.int8(type.signed ? 1 : 0);
        break;
      case FLOAT:
        one(from);
        out.int16(type.bits == 64 ? 2 : type.bits == 32 ? 1 : 0);
        break;
      case FIXED_BINARY:
      case FIXED_LIST:
        one(from);
        out.int32(type.size);
        break;
      case DURATION:
        one(from);
        out.int16(MICROSECONDS);
        break;
      case DATE:
        one(from);
        out.int16(0);
        break;
      case MAP:
        one(from);
        out.int8(0);
        break;
      default:
        one(from);
        out.skip();
    }
  }

  private void one(int from) {
    out.pointToTable(from, 1);
    out.table(1);
  }
}
