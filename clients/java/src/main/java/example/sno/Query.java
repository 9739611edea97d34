package example.sno;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/** How a source reaches the database. */
@FunctionalInterface
public interface Query {
    /**
     * Runs a query without parameters in a transaction of its own, which has committed when this returns. The result
     * is a list of rows, each a list of columns as text.
     */
    List<List<String>> run(String sql) throws Exception;

    /** Runs each query in a connection that the argument opens, such as dataSource::getConnection, and closes it. */
    static Query of(Callable<Connection> connections) {
        return sql -> {
            try (Connection connection = connections.call();
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
                int columns = result.getMetaData().getColumnCount();
                List<List<String>> rows = new ArrayList<>();
                while (result.next()) {
                    List<String> row = new ArrayList<>();
                    for (int i = 1; i <= columns; i++) {
                        row.add(result.getString(i));
                    }
                    rows.add(row);
                }
                if (!connection.getAutoCommit()) {
                    connection.commit();
                }
                return rows;
            }
        };
    }
}
