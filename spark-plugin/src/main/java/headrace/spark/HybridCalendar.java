package headrace.spark;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import org.apache.spark.sql.catalyst.util.RebaseDateTime;

/**
 * The calendar by which Spark 2 counted days and times: that of Julius Caesar before 15 October 1582, then that of
 * Gregory.
 */
final class HybridCalendar {
  private HybridCalendar() {}

  /**
   * Counts values by Gregory's calendar alone, just as Spark's own reader does. Called by the native part.
   *
   * @param zone of the clocks that showed the times; null if the values are days
   * @param values microseconds or days since 1970, each of 64 bits
   * @return what went wrong; null if nothing did
   */
  private static String rebase(String zone, ByteBuffer values) {
    try {
      LongBuffer counted = values.order(ByteOrder.nativeOrder()).asLongBuffer();
      for (int i = 0; i < counted.capacity(); i++) {
        long value = counted.get(i);
        counted.put(
            i,
            zone == null
                ? RebaseDateTime.rebaseJulianToGregorianDays(Math.toIntExact(value))
                : RebaseDateTime.rebaseJulianToGregorianMicros(zone, value));
      }
      return null;
    } catch (RuntimeException error) {
      return error.toString();
    }
  }
}
