package headrace.spark

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode

/** A project of a service, and what is shown of the caller there. Files are read where it is asked.
  *
  * No case class: the token is in nothing that is shown.
  */
class HeadraceService(
    target: String,
    project: String,
    ca: Option[String],
    cert: Option[String],
    key: Option[String],
    token: Option[String],
    timeout: Option[Double]
) extends Serializable {
  override def toString: String = target

  /** What the native part is asked for there, with room for more. */
  def request(): ObjectNode = {
    val node = HeadraceService.mapper.createObjectNode()
    val told = node.putObject("target").put("uri", target).put("project", project)
    for ((name, value) <- Seq("ca" -> ca, "cert" -> cert, "key" -> key, "token" -> token); text <- value) {
      told.put(name, text)
    }
    timeout.foreach(told.put("timeout", _))
    node
  }

  /** The answer to an action of the protocol.
    *
    * @throws HeadraceRefusal
    *   the service, or the way to it, gives none
    */
  def ask(action: String, body: JsonNode): JsonNode = {
    val asked = request().put("action", action)
    asked.set[ObjectNode]("body", body)
    told(NativeFlight.ask(asked.toString))
  }

  /** Has a `ReadRequest` of the protocol prepared.
    *
    * @throws HeadraceRefusal
    *   as of `ask`
    */
  def prepare(read: JsonNode): PreparedRead = {
    val asked = request()
    asked.set[ObjectNode]("request", read)
    new PreparedRead(told(NativeFlight.prepare(asked.toString)))
  }

  private def told(answer: => String): JsonNode = {
    val text =
      try answer
      catch { case refused: HeadraceException => throw new HeadraceRefusal(refused.getMessage, refused) }
    HeadraceService.mapper.readTree(text)
  }
}

object HeadraceService {
  private[spark] val mapper = new ObjectMapper
}
