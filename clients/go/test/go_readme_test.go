// The examples of clients/go/README.md, but for pgx 5.

package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/lib/pq"
)

// README.md: import

func ids() {
	// README.md: ids
	must(err)
	same(id.Time().Format(time.RFC3339Nano), "2031-05-08T23:03:34.976Z", "the time of an id")
	same(id.Meta(), byte(255), "its metabyte")
}

func found(rows *sql.Rows) (names []string) {
	for rows.Next() {
		var name string
		must(rows.Scan(&name))
		names = append(names, name)
	}
	must(rows.Err())
	return names
}

func queries(db *sql.DB) {
	// README.md: database/sql
	must(err)
	same(found(some), []string{"Ada"}, "= ANY")
	same(found(recent), []string{"Ada"}, "a range of time")
	same(related, []sno.NullID{{ID: ada, Valid: true}, {}}, "an array with a null")
}

func generator(ctx context.Context, db *sql.DB) {
	// README.md: generator
	must(err)
	same(id.Meta(), byte(1), "an id made here")
	// README.md: generator rows
	must(err)
	rows, err := db.Query("SELECT name FROM orders AS o JOIN customers AS c ON c.id = customer_id WHERE o.id = ANY ($1)"+
		" ORDER BY o.id", pq.Array(orders))
	must(err)
	same(found(rows), names, "rows with keys made here, and rows that refer to them")
}

func seals(id sno.ID, secret []byte) {
	made := id
	// README.md: seals
	must(err)
	ok(sealed && id == made && text != id.String(), "sealed, there and back", text)
}

func prefixed(id sno.ID) {
	// README.md: prefixes
	must(err)
	ok(again == id && text == "user_"+id.String(), "with a prefix, there and back", text)
}

func main() {
	db, err := sql.Open("postgres", "")
	must(err)
	ids()
	queries(db)
	seals(sno.Min(time.Now()), []byte("0123456789abcdef"))
	made, err := sno.Parse("9d5ve82226224222")
	must(err)
	prefixed(made)
	generator(context.Background(), db)
	done()
}
