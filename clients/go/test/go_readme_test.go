// The examples of clients/go/README.md, but for pgx 5.

package main

import (
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

func names(rows *sql.Rows) (found []string) {
	for rows.Next() {
		var name string
		must(rows.Scan(&name))
		found = append(found, name)
	}
	must(rows.Err())
	return found
}

func queries(db *sql.DB) {
	// README.md: database/sql
	must(err)
	same(names(some), []string{"Ada"}, "= ANY")
	same(names(recent), []string{"Ada"}, "a range of time")
	same(related, []sno.NullID{{ID: ada, Valid: true}, {}}, "an array with a null")
}

func main() {
	db, err := sql.Open("postgres", "")
	must(err)
	ids()
	queries(db)
	done()
}
