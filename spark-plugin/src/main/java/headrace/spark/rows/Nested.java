package headrace.spark.rows;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** How lists and maps within rows are made. */
interface Nested {
  Object list(Object[] values);

  /** Of a variant alone: columns have lists in the place of tuples. */
  Object tuple(Object[] values);

  Object map(Object[] keys, Object[] values);

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
      };
}
