package headrace.spark.rows;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import headrace.spark.HeadraceException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The vectors of testdata/rowcodec: what every reader of the format agrees on. */
class VectorsTest {
  static Stream<String> names() throws IOException {
    return Vectors.names("", ".json").filter(name -> !name.equals("malformed"));
  }

  static Stream<String> turned() throws IOException {
    return Vectors.names("big_endian", ".arrows");
  }

  static Stream<String> malformed() throws IOException {
    return Vectors.names("malformed", ".arrows");
  }

  private static void assertTold(String name, List<Object> rows) throws IOException {
    List<JsonNode> told = Vectors.rows(name);
    assertEquals(told.size(), rows.size());
    for (int i = 0; i < rows.size(); i++) {
      Object row = rows.get(i);
      assertTrue(Vectors.isRow(told.get(i), row), told.get(i) + " is read as " + Arrays.deepToString(new Object[] {row}));
    }
  }

  @ParameterizedTest
  @MethodSource("names")
  void aVectorIsReadAsToldByItsValues(String name) throws IOException {
    assertTold(name, Vectors.all(RowSource.of(Vectors.bytes(name)).arrays()));
  }

  @ParameterizedTest
  @MethodSource("names")
  void aVectorIsReadFromAStreamThatGivesLittleAtATime(String name) throws IOException {
    InputStream slow =
        new ByteArrayInputStream(Vectors.bytes(name)) {
          @Override
          public int read(byte[] out, int from, int length) {
            return super.read(out, from, Math.min(length, 7));
          }

          @Override
          public int available() {
            return 0;
          }
        };
    assertTold(name, Vectors.all(RowSource.of(slow).arrays()));
  }

  @ParameterizedTest
  @MethodSource("turned")
  void aVectorIsReadInTheOtherByteOrder(String name) throws IOException {
    assertTold(name, Vectors.all(RowSource.of(Vectors.bytes("big_endian/" + name)).arrays()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"lz4", "zstd"})
  void aVectorIsReadCompressed(String codec) throws IOException {
    assertTold("dictionary", Vectors.all(RowSource.of(Vectors.bytes("dictionary." + codec)).arrays()));
  }

  @ParameterizedTest
  @MethodSource("malformed")
  void whatIsMalformedIsAnError(String name) throws IOException {
    byte[] data = Vectors.bytes("malformed/" + name);
    if (name.equals("variant_of_unknown_class")) { // records need no class here
      Object[] row = (Object[]) Vectors.all(RowSource.of(data).arrays()).get(0);
      assertEquals(0, ((Row) row[0]).length());
      return;
    }
    String code = Vectors.json("malformed").get(name).asText().equals("damaged") ? "BAD_DATA" : "UNSUPPORTED";
    for (RowSource source : List.of(RowSource.of(data), RowSource.of(new ByteArrayInputStream(data)))) {
      RowReader<Object> reader = source.arrays();
      HeadraceException error = assertThrows(HeadraceException.class, () -> Vectors.all(reader));
      assertEquals(code, error.code(), error.getMessage());
      String[] words = error.getMessage().split(" ");
      assertEquals("byte", words[words.length - 2]);
      assertTrue(Long.parseLong(words[words.length - 1]) <= data.length, error.getMessage());
      assertThrows(HeadraceException.class, reader::next);
    }
  }
}
