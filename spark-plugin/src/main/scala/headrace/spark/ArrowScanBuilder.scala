package headrace.spark

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex
import org.apache.spark.sql.execution.datasources.v2.FileScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

class ArrowScanBuilder(
    session: SparkSession,
    fileIndex: PartitioningAwareFileIndex,
    dataSchema: StructType,
    options: CaseInsensitiveStringMap
) extends FileScanBuilder(session, fileIndex, dataSchema) {

  override def build(): Scan =
    ArrowScan(
      session, fileIndex, dataSchema, readDataSchema(), readPartitionSchema(), options, partitionFilters, dataFilters)
}
