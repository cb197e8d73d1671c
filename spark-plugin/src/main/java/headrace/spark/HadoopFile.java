package headrace.spark;

import java.io.Closeable;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;

/**
 * A file of one of Hadoop's file systems, of which the native part reads ranges.
 *
 * <p>What goes wrong while it fills a buffer is kept, since it crosses the native part as text only: see {@link
 * #explained}.
 */
final class HadoopFile implements Closeable {
  private static final long SECOND = 1000;

  private final Path path;
  private final FSDataInputStream stream;

  /** Whether the stream fills buffers of native memory itself. */
  private final boolean direct;

  /** What a stream that does not reads into. */
  private byte[] copy = new byte[0];

  private Throwable failure;

  /**
   * Opens a file that Spark has listed.
   *
   * @param length its bytes, as listed
   * @param modified when it was last changed, as listed, in milliseconds since 1970
   * @throws FileNotFoundException it is gone
   * @throws IOException it is another one by now, or its file system does not answer
   */
  HadoopFile(Path path, Configuration conf, long length, long modified) throws IOException {
    this.path = path;
    FileSystem system = path.getFileSystem(conf);
    try {
      FileStatus found = system.getFileStatus(path);
      if (found.getLen() != length || !sameTime(found.getModificationTime(), modified)) {
        throw new IOException("it was changed after Spark had listed it; load it, or refresh the table, once more");
      }
      stream = opened(system, found);
    } catch (IOException error) {
      throw told(error);
    }
    direct = stream.hasCapability(StreamCapabilities.PREADBYTEBUFFER);
  }

  /** Object stores are told that parts of the file are read, each by a request for just that part. */
  private static FSDataInputStream opened(FileSystem system, FileStatus file) throws IOException {
    try {
      return system
          .openFile(file.getPath())
          .withFileStatus(file)
          .opt("fs.option.openfile.read.policy", "random")
          .opt("fs.s3a.experimental.input.fadvise", "random")
          .build()
          .get();
    } catch (ExecutionException error) {
      if (error.getCause() instanceof IOException) {
        throw (IOException) error.getCause();
      }
      throw new IOException(error.getCause());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw (IOException) new java.io.InterruptedIOException("interrupted while it was opened").initCause(error);
    }
  }

  /** Some object stores tell whole seconds of one file, and milliseconds of all files. */
  private static boolean sameTime(long one, long other) {
    boolean whole = one % SECOND == 0 || other % SECOND == 0;
    return one == other || whole && one / SECOND == other / SECOND;
  }

  /**
   * Fills a buffer with the bytes from a position on. Called by the native part.
   *
   * @return what went wrong; null if nothing did
   */
  private String fill(long position, ByteBuffer into) {
    try {
      if (direct) {
        stream.readFully(position, into);
      } else {
        int length = into.remaining();
        if (copy.length < length) {
          copy = new byte[length];
        }
        stream.readFully(position, copy, 0, length);
        into.put(copy, 0, length);
      }
      return null;
    } catch (Throwable error) {
      failure = error;
      return error.toString();
    }
  }

  /** An error of the native part; if it comes from this file, with what went wrong there as its cause. */
  IOException explained(IOException error) {
    if (failure instanceof Error) {
      throw (Error) failure;
    }
    return failure == null ? error : told(failure);
  }

  private IOException told(Throwable cause) {
    IOException error =
        cause instanceof FileNotFoundException
            ? new FileNotFoundException(path + " is not there")
            : new IOException(path + " cannot be read: " + cause.getMessage());
    return (IOException) error.initCause(cause);
  }

  @Override
  public void close() throws IOException {
    stream.close();
  }
}
