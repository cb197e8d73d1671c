package headrace.spark;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The native part, which travels in the jar and is loaded once a JVM. */
final class NativeLibrary {
  private static final String PLATFORM = System.getProperty("os.name") + "-" + System.getProperty("os.arch");

  private static boolean loaded;

  private NativeLibrary() {}

  /** Loads it from a file of this process alone, gone from its folder as soon as it is loaded. */
  static synchronized void load() {
    if (loaded) {
      return;
    }
    String name = System.mapLibraryName("headrace_spark");
    try (InputStream packed = NativeLibrary.class.getResourceAsStream("native/" + PLATFORM + "/" + name)) {
      if (packed == null) {
        throw new UnsatisfiedLinkError(
            "this jar of headrace-spark has no native part for " + PLATFORM + ": build it there with make spark");
      }
      Path folder = Files.createTempDirectory("headrace-spark-");
      Path file = folder.resolve(name);
      try {
        Files.copy(packed, file, StandardCopyOption.REPLACE_EXISTING);
        System.load(file.toString());
        loaded = true;
      } finally {
        Files.deleteIfExists(file);
        Files.delete(folder);
      }
    } catch (IOException error) {
      throw new UncheckedIOException("the native part of headrace-spark cannot be unpacked", error);
    }
  }
}
