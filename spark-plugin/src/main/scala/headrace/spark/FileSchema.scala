package headrace.spark

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.catalyst.parser.LegacyTypeStringParser
import org.apache.spark.sql.types.{DataType, StructType}

import scala.util.Try

/** The columns that a file has, from what `read.rs` tells of it. */
private[spark] object FileSchema {
  private val mapper = new ObjectMapper

  /** As Spark itself has written them down, if it wrote the file: Parquet tells its own types of many of them alone. What
    * cannot be understood counts for nothing, as with Spark's own reader.
    *
    * @throws UnsupportedOperationException
    *   a column is of a type that is not read
    */
  def read(told: String, path: String): StructType = {
    val node = mapper.readTree(told)
    val own = Option(node.get("spark")).flatMap(text => parse(text.asText))
    for (schema <- own; field <- schema; (name, kind) <- Layout.foreign(field.name, field.dataType)) {
      throw new UnsupportedOperationException(
        s"the column '$name' of $path is of the type ${kind.sql}, which the source 'arrow' does not read")
    }
    own.getOrElse {
      Option(node.get("refused")).foreach(why => throw new UnsupportedOperationException(why.asText))
      DataType.fromJson(node.get("columns").toString).asInstanceOf[StructType]
    }
  }

  /** Spark 1 wrote its schemas otherwise than in JSON. */
  private def parse(text: String): Option[StructType] =
    Try(DataType.fromJson(text)).orElse(Try(LegacyTypeStringParser.parseString(text))).toOption.collect {
      case schema: StructType => schema
    }
}
