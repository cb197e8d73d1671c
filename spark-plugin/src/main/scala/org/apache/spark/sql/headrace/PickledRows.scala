package org.apache.spark.sql.headrace

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/**
 * Rows of `docs/row-format.md` within a pickle, which calls a function of Python with their bytes. So whatever unpickles
 * what Spark sends can read them, and need not know of them. Other pickles may be among these.
 */
private[headrace] object PickledRows {
  private val Head: Array[Byte] =
    Array(0x80.toByte, 3.toByte) ++ "cheadrace.spark.serializer\nloads\nB".getBytes(US_ASCII)
  private val Failure: Array[Byte] =
    Array(0x80.toByte, 3.toByte) ++ "cheadrace.spark.serializer\nfailed\nX".getBytes(US_ASCII)
  private val Tail: Array[Byte] = Array(0x85.toByte, 'R'.toByte, '.'.toByte)
  private val Size = 4

  /** The bytes of the rows that are in a pickle; null if others made it. */
  def rowsIn(pickle: Array[Byte]): Array[Byte] = {
    val begin = Head.length + Size
    val is = pickle.length >= begin + Tail.length && Arrays.equals(pickle, 0, Head.length, Head, 0, Head.length)
    if (is) Arrays.copyOfRange(pickle, begin, pickle.length - Tail.length) else null
  }

  /** A pickle that raises an error where it is read: whoever waits for the rest of a stream is not told otherwise. */
  def failure(what: String): Array[Byte] = {
    val text = what.getBytes(UTF_8)
    val size = ByteBuffer.allocate(Size).order(ByteOrder.LITTLE_ENDIAN).putInt(text.length).array()
    Failure ++ size ++ text ++ Tail
  }

  /** Gathers the bytes of rows. */
  final class Output extends ByteArrayOutputStream(1 << 12) {
    write(Head, 0, Head.length)
    write(new Array[Byte](Size), 0, Size)

    def pickle(): Array[Byte] = {
      ByteBuffer.wrap(buf).order(ByteOrder.LITTLE_ENDIAN).putInt(Head.length, count - Head.length - Size)
      write(Tail, 0, Tail.length)
      toByteArray
    }
  }
}
