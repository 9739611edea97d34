package example.sno;

import java.util.HashSet;
import java.util.Map;
import java.util.NoSuchElementException;

/** Names before ids, such as user_9d5ve82226224222, as sno_prefixed() writes them. Threads may share it. */
public final class Prefixes {
    private final Map<Integer, String> prefixes;

    /** The prefixes of metabytes. */
    public Prefixes(Map<Integer, String> prefixes) {
        this.prefixes = Map.copyOf(prefixes);
        this.prefixes.forEach((meta, prefix) -> {
            if (meta < 0 || meta > 255) {
                throw new IllegalArgumentException("not a metabyte: " + meta);
            }
            if (prefix.length() > 63 || !prefix.matches("[a-z]([a-z0-9_]*[a-z0-9])?")) {
                throw new IllegalArgumentException("not a prefix: " + Sno.quoted(prefix));
            }
        });
        if (new HashSet<>(this.prefixes.values()).size() < this.prefixes.size()) {
            throw new IllegalArgumentException("a prefix belongs to one metabyte");
        }
    }

    /** The prefix of the id's metabyte, as sno_prefix(id), or null. */
    public String prefix(Sno id) {
        return prefixes.get(id.meta());
    }

    /** The prefix, an underscore, and the id, as sno_prefixed(id). */
    public String write(Sno id) {
        String prefix = prefix(id);
        if (prefix == null) {
            throw new NoSuchElementException("metabyte " + id.meta() + " has no prefix");
        }
        return prefix + "_" + id;
    }

    /** The id of such a text, as sno_from_prefixed(text). */
    public Sno read(String text) {
        int end = text.lastIndexOf('_');
        Sno id = Sno.parse(text.substring(end + 1));
        if (end < 0 || !text.substring(0, end).equals(prefix(id))) {
            throw new IllegalArgumentException("wrong prefix of an id: " + Sno.quoted(text));
        }
        return id;
    }
}
