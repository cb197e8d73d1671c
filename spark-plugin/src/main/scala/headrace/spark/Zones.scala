package headrace.spark

import java.time.{Instant, ZoneId, ZoneOffset}
import java.time.zone.ZoneOffsetTransition

import com.fasterxml.jackson.databind.node.ObjectNode

import scala.collection.JavaConverters._

/** Time zones, as the native part knows them: by when their clocks change. */
private[spark] object Zones {
  /** Years after which the calendar repeats, and the changes with it. */
  private val Cycle = 400

  /** All that a text may name, and be a time there. */
  def names: Iterable[String] = (ZoneId.getAvailableZoneIds.asScala ++ ZoneId.SHORT_IDS.keySet.asScala).toSeq.sorted

  def describe(node: ObjectNode, id: String): Unit = {
    val rules = ZoneId.of(id).getRules
    val known = rules.getTransitions.asScala.toSeq
    val repeats = !rules.getTransitionRules.isEmpty
    val last = known.lastOption.map(_.getInstant).getOrElse(Instant.EPOCH)
    val end = last.atZone(ZoneOffset.UTC).plusYears(Cycle).toInstant
    val coming = Iterator.iterate(rules.nextTransition(last))(change => rules.nextTransition(change.getInstant))
    val changes = if (repeats) known ++ coming.takeWhile(_.getInstant.compareTo(end) <= 0) else known
    node.put("first", known.headOption.map(_.getOffsetBefore).getOrElse(rules.getOffset(Instant.EPOCH)).getTotalSeconds)
    node.put("repeats", repeats)
    val told = node.putArray("changes")
    changes.foreach(change => told.addArray().add(laterClock(change)).add(change.getOffsetAfter.getTotalSeconds))
  }

  private def laterClock(change: ZoneOffsetTransition): Long =
    change.toEpochSecond + Math.max(change.getOffsetBefore.getTotalSeconds, change.getOffsetAfter.getTotalSeconds)
}
