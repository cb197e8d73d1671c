package headrace.spark.rows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;

/** How what is within rows is made. */
interface Nested {
  Object list(Object[] values);

  /** Of a variant alone: columns have lists in the place of tuples. */
  Object tuple(Object[] values);

  Object map(Object[] keys, Object[] values);

  /** Spark has no type for them. */
  Object uuid(UUID value);

  /** `java.util.List`, `Object[]` and `java.util.Map`. */
  Nested JAVA =
      new Nested() {
        @Override
        public Object list(Object[] values) {
          return new ArrayList<>(Arrays.asList(values));
        }

        @Override
        public Object tuple(Object[] values) {
          return values;
        }

        @Override
        public Object map(Object[] keys, Object[] values) {
          Map<Object, Object> map = new LinkedHashMap<>();
          for (int i = 0; i < keys.length; i++) {
            map.put(keys[i], values[i]);
          }
          return map;
        }

        @Override
        public Object uuid(UUID value) {
          return value;
        }
      };
}
