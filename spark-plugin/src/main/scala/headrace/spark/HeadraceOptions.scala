package headrace.spark

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import java.nio.file.Paths
import scala.collection.JavaConverters._
import scala.util.Try

/** What is read, and where, as the user says with `option`. */
case class HeadraceOptions(service: HeadraceService, source: HeadraceOptions.Source)

object HeadraceOptions {
  sealed trait Source {
    def name: String
  }

  case class Group(name: String, snapshot: Option[Long]) extends Source

  case class View(name: String) extends Source

  private val Known = Seq(
    "target", "project", "group", "view", "snapshot", "pems_dir", "tls_ca", "tls_cert", "tls_key", "token", "timeout")

  /** All headers of a call together take some more at the service. */
  private val LongestToken = 7000

  def apply(options: CaseInsensitiveStringMap): HeadraceOptions = {
    val unknown = options.keySet.asScala.filterNot(Known.contains)
    check(
      !unknown.contains("path"),
      "the source 'headrace' has no path: name a feature group by .option(\"group\", …), or a view by .option(\"view\", …)")
    check(unknown.isEmpty, s"no option is named ${unknown.mkString("'", "', '", "'")}: there are ${Known.mkString(", ")}")
    val told = options.asScala
    HeadraceOptions(service(told.toMap), source(told.toMap))
  }

  private def source(told: Map[String, String]) = (told.get("group"), told.get("view")) match {
    case (Some(group), None) => Group(group, told.get("snapshot").map(number("snapshot", _)(_.toLong)))
    case (None, Some(view)) =>
      check(!told.contains("snapshot"), "the option 'snapshot' is one of a group's table, and a view has several")
      View(view)
    case (Some(_), _) => throw new IllegalArgumentException("the options 'group' and 'view' were both given: one says what is read")
    case _ => throw new IllegalArgumentException(
      "what is read is not said: give the option 'group', as weather@v1 or weather, or the option 'view'")
  }

  private def service(told: Map[String, String]) = {
    val target = told.getOrElse("target", throw new IllegalArgumentException(
      "the option 'target' says where the service is: grpc+tls://host:8815"))
    val files = Seq("tls_ca", "tls_cert", "tls_key")
    check(
      !told.contains("pems_dir") || !files.exists(told.contains),
      s"the option 'pems_dir' stands for ${files.mkString(", ")}, and goes with none of them")
    check(told.contains("tls_cert") == told.contains("tls_key"), "the options 'tls_cert' and 'tls_key' go together")
    val timeout = told.get("timeout").map(number("timeout", _)(_.toDouble))
    check(timeout.forall(seconds => seconds > 0 && seconds < 1e9), "the option 'timeout' is a number of seconds above 0")
    for (name <- "pems_dir" +: files; path <- told.get(name)) {
      // What may be a key is not repeated.
      val isPath = !path.contains("-----BEGIN") && !path.contains('\n')
      check(isPath, s"the option '$name' is a path, and not what the file holds")
    }
    val project = told.getOrElse("project", "default")
    check(isPlain(project), s"the option 'project' is a name of lower case letters, digits and '_', and was '$project'")
    val token = told.get("token").map(_.trim)
    // It is not repeated.
    check(
      token.forall(text => text.nonEmpty && isPlain(text) && !text.contains(' ')),
      "the option 'token' is no token: one has letters and digits of ASCII, and - . _ ~ + / = between them, in one line")
    check(
      token.forall(_.length <= LongestToken),
      s"the option 'token' has ${token.fold(0)(_.length)} characters, and $LongestToken can be sent")
    val pems = told.get("pems_dir").map(Paths.get(_))
    def file(option: String, name: String) = told.get(option).orElse(pems.map(_.resolve(name).toString))
    new HeadraceService(
      target, project, file("tls_ca", "ca_chain.pem"),
      file("tls_cert", "client_cert.pem"), file("tls_key", "client_key.pem"), token, timeout)
  }

  /** Headers of a call hold nothing else. */
  private def isPlain(text: String) = text.forall(letter => letter >= ' ' && letter <= '~')

  private def number[T](name: String, text: String)(parse: String => T): T =
    Try(parse(text.trim)).getOrElse(throw new IllegalArgumentException(
      s"the option '$name' is a number, and was '$text'"))

  private def check(holds: Boolean, otherwise: => String): Unit =
    if (!holds) throw new IllegalArgumentException(otherwise)
}
