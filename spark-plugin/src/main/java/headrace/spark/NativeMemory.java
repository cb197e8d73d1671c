package headrace.spark;

/** What the native readers of this JVM hold. */
final class NativeMemory {
  static {
    NativeLibrary.load();
  }

  private NativeMemory() {}

  /** Readers that were opened and not closed. */
  static native long readers();

  /** Bytes that the native part has allocated and not freed. */
  static native long bytes();
}
