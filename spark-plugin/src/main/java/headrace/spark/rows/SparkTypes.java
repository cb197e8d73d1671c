package headrace.spark.rows;

import headrace.spark.HeadraceException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/** What columns are to Spark. */
final class SparkTypes {
  /** Of values that tell their own types. */
  static final DataType ANY = new ObjectType(Object.class);

  private static final DataType UNSIGNED = new DecimalType(20, 0);

  private SparkTypes() {}

  /** The columns of a segment, without that of rows that do not fit. */
  static StructType of(List<Field> fields) throws HeadraceException {
    List<StructField> found = new ArrayList<>();
    for (Field field : fields) {
      found.add(new StructField(field.name, of(field), true, Metadata.empty()));
    }
    return new StructType(found.toArray(new StructField[0]));
  }

  private static DataType of(Field field) throws HeadraceException {
    ArrowType type = field.type;
    switch (type.kind) {
      case NULL:
        return DataTypes.NullType;
      case BOOL:
        return DataTypes.BooleanType;
      case INT:
        return type.bits == 64 && !type.signed ? UNSIGNED : DataTypes.LongType;
      case FLOAT:
        return type.bits == 64 ? DataTypes.DoubleType : DataTypes.FloatType;
      case TEXT:
        return DataTypes.StringType;
      case BINARY:
        return field.isVariant() ? ANY : DataTypes.BinaryType;
      case FIXED_BINARY:
        return field.isUuid() ? DataTypes.StringType : DataTypes.BinaryType;
      case DECIMAL:
        if (type.scale < 0 || type.scale > type.precision) {
          throw mismatch(field, "has a decimal of a scale that Spark has not");
        }
        return new DecimalType(type.precision, type.scale);
      case DATE:
        return DataTypes.DateType;
      case TIMESTAMP:
        return type.zone == null ? DataTypes.TimestampNTZType : DataTypes.TimestampType;
      case DURATION:
        return DayTimeIntervalType.apply();
      case LIST:
      case FIXED_LIST:
        return new ArrayType(of(field.children.get(0)), true);
      case MAP:
        List<Field> entry = field.children.get(0).children;
        return new MapType(of(entry.get(0)), of(entry.get(1)), true);
      case STRUCT:
        return of(field.children);
      default:
        throw new IllegalStateException(type.kind.name());
    }
  }

  private static HeadraceException mismatch(Field field, String what) {
    return new HeadraceException("SCHEMA_MISMATCH", "column \"" + field.name + "\" " + what, "");
  }

  /**
   * What a column is read as where a type was asked for. Integers are read in any width that holds them, floats as doubles,
   * decimals of the same scale in any precision, and columns of nothing but nulls as any type.
   */
  static DataType of(Field field, DataType asked) throws HeadraceException {
    ArrowType type = field.type;
    DataType own = of(field);
    if (type.kind == ArrowType.Kind.NULL || field.isVariant() || own.sameType(asked)) {
      return asked;
    }
    boolean fits = false;
    switch (type.kind) {
      case INT:
        fits = own instanceof LongType && bits(asked) > 0;
        break;
      case FLOAT:
        fits = asked instanceof DoubleType;
        break;
      case TEXT:
        fits = asked instanceof StringType;
        break;
      case DECIMAL:
        fits = asked instanceof DecimalType && ((DecimalType) asked).scale() == type.scale;
        break;
      case DURATION:
        fits = asked instanceof DayTimeIntervalType;
        break;
      case LIST:
      case FIXED_LIST:
      case MAP:
      case STRUCT:
        nested(field, own, asked);
        fits = true;
        break;
      default:
        break;
    }
    if (!fits) {
      throw mismatch(field, "is of the type " + own.sql() + ", and " + asked.sql() + " was asked for");
    }
    return asked;
  }

  private static void nested(Field field, DataType own, DataType asked) throws HeadraceException {
    boolean alike = own.getClass() == asked.getClass();
    if (alike && asked instanceof StructType) {
      String[] names = ((StructType) asked).fieldNames();
      alike = names.length == field.children.size();
      for (int i = 0; alike && i < names.length; i++) {
        alike = Schema.isPlaces(field.py()) || names[i].equals(field.children.get(i).name);
      }
    }
    if (!alike) {
      throw mismatch(field, "is of the type " + own.sql() + ", and " + asked.sql() + " was asked for");
    }
    List<Field> children = field.type.kind == ArrowType.Kind.MAP ? field.children.get(0).children : field.children;
    for (int i = 0; i < children.size(); i++) {
      DataType of = asked instanceof MapType ? part((MapType) asked, i) : child(asked, field, i);
      of(children.get(i), of);
    }
  }

  static DataType part(MapType type, int n) {
    return n == 0 ? type.keyType() : type.valueType();
  }

  /** The type of the n-th child of a column. The entries of a map are a struct of their keys and values. */
  static DataType child(DataType type, Field field, int n) {
    if (type instanceof ArrayType) {
      return ((ArrayType) type).elementType();
    }
    if (type instanceof MapType) {
      return field.type.kind == ArrowType.Kind.MAP ? type : part((MapType) type, n);
    }
    return ((StructType) type).apply(n).dataType();
  }

  /** Whether values that tell their own types are within a type. */
  static boolean hasAny(DataType type) {
    if (type instanceof StructType) {
      return Arrays.stream(((StructType) type).fields()).anyMatch(field -> hasAny(field.dataType()));
    } else if (type instanceof MapType) {
      return hasAny(part((MapType) type, 0)) || hasAny(part((MapType) type, 1));
    }
    return type instanceof ArrayType ? hasAny(((ArrayType) type).elementType()) : type.equals(ANY);
  }

  /** Of integers; 0 of other types. */
  static int bits(DataType type) {
    if (type instanceof ByteType) {
      return 8;
    }
    if (type instanceof ShortType) {
      return 16;
    }
    if (type instanceof IntegerType) {
      return 32;
    }
    return type instanceof LongType ? 64 : 0;
  }

  /** The greatest integer of a type; that of 64 bits if it is none of integers. */
  static long most(DataType type) {
    int bits = bits(type);
    return bits == 0 ? Long.MAX_VALUE : -1L >>> 65 - bits;
  }

  /** A column that a writer fills with values of a type. Integers are as narrow, and texts as much looked up, as it pays. */
  static Field field(String name, DataType type, String path) throws HeadraceException {
    Field text = Field.of(name, ArrowType.TEXT);
    if (type instanceof NullType) {
      return Field.of(name, ArrowType.NULL);
    } else if (type instanceof BooleanType) {
      return Field.of(name, ArrowType.BOOL);
    } else if (bits(type) > 0) {
      return Field.of(name, ArrowType.integer(8, true));
    } else if (type instanceof FloatType) {
      return Field.of(name, ArrowType.floating(32));
    } else if (type instanceof DoubleType) {
      return Field.of(name, ArrowType.floating(64));
    } else if (type instanceof StringType) {
      return text;
    } else if (type instanceof BinaryType) {
      return Field.of(name, ArrowType.BINARY);
    } else if (type instanceof DateType) {
      return Field.of(name, ArrowType.DATE);
    } else if (type instanceof TimestampType) {
      return Field.of(name, ArrowType.timestamp(java.util.concurrent.TimeUnit.MICROSECONDS, "UTC")).with(Field.PY, "timezone");
    } else if (type instanceof TimestampNTZType) {
      return Field.of(name, ArrowType.timestamp(java.util.concurrent.TimeUnit.MICROSECONDS, null));
    } else if (type instanceof DayTimeIntervalType) {
      return Field.of(name, ArrowType.duration(java.util.concurrent.TimeUnit.MICROSECONDS));
    } else if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return Field.of(name, ArrowType.decimal(decimal.precision(), decimal.scale()));
    } else if (type instanceof ArrayType) {
      return Field.of(name, ArrowType.LIST).of(List.of(field("item", ((ArrayType) type).elementType(), path)));
    } else if (type instanceof MapType) {
      MapType map = (MapType) type;
      Field key = field("key", map.keyType(), path).required();
      Field value = field("value", map.valueType(), path);
      return Field.of(name, ArrowType.MAP).of(List.of(Field.of("entries", ArrowType.STRUCT).required().of(List.of(key, value))));
    } else if (type instanceof StructType) {
      List<Field> children = new ArrayList<>();
      for (StructField child : ((StructType) type).fields()) {
        children.add(field(child.name(), child.dataType(), path));
      }
      return Field.of(name, ArrowType.STRUCT).with(Field.PY, "row").of(children);
    }
    throw new HeadraceException(
        "UNSUPPORTED", "column \"" + path + "\" is of the type " + type.sql() + ", of which no rows are written", "");
  }
}
