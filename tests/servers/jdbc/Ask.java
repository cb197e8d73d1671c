import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;

/**
 * Asks a service by JDBC what stands on its lines of input: words with tabs between them, the first of which says what to
 * do. The answer is a line for each row, its columns with tabs between them, and a line with a dot; what goes wrong is a
 * line that begins with an exclamation mark.
 */
public class Ask {
    private final Connection connection;
    private PreparedStatement prepared;

    private Ask(Connection connection) {
        this.connection = connection;
    }

    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new java.io.PrintStream(System.out, true, StandardCharsets.UTF_8);
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            var ask = new Ask(connection);
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                try {
                    output.print(ask.answer(line.split("\t", -1)));
                } catch (SQLException | RuntimeException error) {
                    output.println("! " + told(error));
                }
                output.println(".");
            }
        } catch (SQLException error) {
            output.println("! " + told(error));
            output.println(".");
        }
    }

    private static String told(Throwable error) {
        var text = new StringBuilder();
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            text.append(cause.getMessage()).append(" | ");
        }
        return text.toString().replace("\n", " ");
    }

    private String answer(String[] words) throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        switch (words[0]) {
            case "query":
                try (Statement statement = connection.createStatement()) {
                    return rows(statement.executeQuery(words[1]));
                }
            case "columns of":
                try (Statement statement = connection.createStatement();
                        ResultSet found = statement.executeQuery(words[1])) {
                    return columns(found.getMetaData());
                }
            case "prepare":
                if (prepared != null) {
                    prepared.close();
                }
                prepared = connection.prepareStatement(words[1]);
                return prepared.getParameterMetaData().getParameterCount() + "\n";
            case "run":
                for (int number = 1; number < words.length; number++) {
                    prepared.setString(number, words[number]);
                }
                return rows(prepared.executeQuery());
            case "first rows":
                try (Statement statement = connection.createStatement();
                        ResultSet found = statement.executeQuery(words[1])) {
                    found.next();
                    statement.cancel();
                    return "cancelled\n";
                }
            case "product":
                return data.getDatabaseProductName() + "\t" + data.getIdentifierQuoteString() + "\n";
            case "catalogs":
                return rows(data.getCatalogs());
            case "schemas":
                return rows(data.getSchemas(null, words[1]));
            case "tables":
                return rows(data.getTables(null, words[1], words[2], null));
            case "columns":
                return rows(data.getColumns(null, words[1], words[2], null));
            case "keys":
                return rows(data.getPrimaryKeys(null, words[1], words[2]));
            case "types":
                return rows(data.getTypeInfo());
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static String columns(ResultSetMetaData data) throws SQLException {
        var text = new StringBuilder();
        for (int number = 1; number <= data.getColumnCount(); number++) {
            text.append(data.getColumnName(number)).append('\t').append(data.getColumnTypeName(number)).append('\n');
        }
        return text.toString();
    }

    private static String rows(ResultSet found) throws SQLException {
        var text = new StringBuilder();
        try (found) {
            int count = found.getMetaData().getColumnCount();
            while (found.next()) {
                for (int number = 1; number <= count; number++) {
                    // The driver gives times with a zone as no object, but as these.
                    boolean zoned = found.getMetaData().getColumnType(number) == Types.TIMESTAMP_WITH_TIMEZONE;
                    Object value = zoned ? found.getTimestamp(number).toInstant() : found.getObject(number);
                    text.append(number == 1 ? "" : "\t").append(value);
                }
                text.append('\n');
            }
        }
        return text.toString();
    }
}
