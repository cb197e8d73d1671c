package headrace.spark.rows;

import java.lang.reflect.Constructor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.codehaus.commons.compiler.CompileException;
import org.codehaus.janino.ClassBodyEvaluator;

/** Classes that were generated, by what they were generated for. Those used longest ago make room for others. */
final class Generated<T> {
  /** How many are kept. */
  private static final int MOST = 128;

  /** A class takes milliseconds to make, in which rows can be read or written without: so many must have come first. */
  private static final int FEWEST_ROWS = 2048;

  private final Class<T> parent;

  private final Map<String, Entry<T>> entries =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Entry<T>> eldest) {
          return size() > MOST;
        }
      };

  private static final class Entry<T> {
    long rows;
    Constructor<? extends T> made;
  }

  Generated(Class<T> parent) {
    this.parent = parent;
  }

  /** A new instance; null as long as there were few rows. Args: {@code source} gives the body of a class. */
  synchronized T get(String key, int rows, Supplier<String> source) {
    Entry<T> entry = entries.computeIfAbsent(key, absent -> new Entry<>());
    entry.rows += rows;
    if (entry.made == null && entry.rows >= FEWEST_ROWS) {
      entry.made = compile(source.get());
    }
    try {
      return entry.made == null ? null : entry.made.newInstance();
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  private Constructor<? extends T> compile(String body) {
    ClassBodyEvaluator evaluator = new ClassBodyEvaluator();
    evaluator.setParentClassLoader(parent.getClassLoader());
    evaluator.setExtendedClass(parent);
    evaluator.setDefaultImports("org.apache.spark.unsafe.Platform", "org.apache.spark.unsafe.types.UTF8String");
    try {
      evaluator.cook(body);
      return evaluator.getClazz().asSubclass(parent).getDeclaredConstructor();
    } catch (CompileException | ReflectiveOperationException error) {
      throw new IllegalStateException("a class was generated that cannot be used:\n" + body, error);
    }
  }
}
