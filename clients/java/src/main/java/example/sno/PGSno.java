package example.sno;

import java.sql.Array;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.postgresql.PGConnection;
import org.postgresql.util.PGBinaryObject;
import org.postgresql.util.PGobject;

/** An id, or null, as PostgreSQL's JDBC driver passes it: as a parameter it is the 10 bytes. */
public final class PGSno extends PGobject implements PGBinaryObject {
    private static final long serialVersionUID = 1;

    /** The driver calls this. */
    public PGSno() {
        setType("sno");
    }

    public PGSno(Sno id) {
        this();
        value = id == null ? null : id.toString();
    }

    /** Makes this the class of results of the connection. */
    public static void register(Connection connection) throws SQLException {
        connection.unwrap(PGConnection.class).addDataType("sno", PGSno.class);
    }

    /** The id in a column, or null. It needs no register(). */
    public static Sno get(ResultSet row, String column) throws SQLException {
        return id(row.getString(column));
    }

    /** The ids of an array of one dimension, with nulls. It needs no register(). */
    public static List<Sno> list(Array array) throws SQLException {
        List<Sno> ids = new ArrayList<>();
        for (Object element : (Object[]) array.getArray()) {
            ids.add(element == null ? null : id(element.toString()));
        }
        return ids;
    }

    private static Sno id(String text) throws SQLException {
        try {
            return text == null ? null : Sno.parse(text);
        } catch (IllegalArgumentException error) {
            throw new SQLException(error.getMessage(), "22P02", error);
        }
    }

    /** The id, or null. */
    public Sno get() {
        return value == null ? null : Sno.parse(value);
    }

    @Override
    public void setValue(String text) throws SQLException {
        id(text);
        super.setValue(text);
    }

    @Override
    public void setByteValue(byte[] from, int offset) {
        byte[] bytes = new byte[10];
        System.arraycopy(from, offset, bytes, 0, bytes.length);
        value = Sno.fromBytes(bytes).toString();
    }

    @Override
    public int lengthInBytes() {
        return value == null ? 0 : 10;
    }

    @Override
    public void toBytes(byte[] to, int offset) {
        System.arraycopy(get().toBytes(), 0, to, offset, 10);
    }
}
