// lib/pq, by way of database/sql: text, but for parameters that are []byte.

package main

import (
	"database/sql"
	"errors"
	"time"

	"github.com/lib/pq"
)

var db *sql.DB

// The rows of one column of text.
func texts(query string, args ...interface{}) (found []string) {
	rows, err := db.Query(query, args...)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		must(rows.Scan(&text))
		found = append(found, text)
	}
	must(rows.Err())
	return found
}

func scan(dst interface{}, query string, args ...interface{}) {
	must(db.QueryRow(query, args...).Scan(dst))
}

func fails(state string, err error, name string) {
	var failure *pq.Error
	ok(errors.As(err, &failure) && string(failure.Code) == state, name, err)
}

func main() {
	var err error
	db, err = sql.Open("postgres", "")
	must(err)

	// What works by itself.
	var plain string
	scan(&plain, "INSERT INTO person (name) VALUES ($1) RETURNING id", "Ada")
	same(texts("SELECT id::text FROM person"), []string{plain}, "RETURNING: text")
	same(texts("SELECT name FROM person WHERE id = $1", plain), []string{"Ada"},
		"parameter, untyped")
	same(texts("SELECT pg_typeof($1::sno)", plain), []string{"sno"}, "parameter, typed")
	same(texts("SELECT name FROM person WHERE id = ANY ($1)", pq.Array([]string{plain})),
		[]string{"Ada"}, "array parameter, of strings")
	var friends []sql.NullString
	scan(pq.Array(&friends), "SELECT ARRAY[id, NULL] FROM person")
	same(friends, []sql.NullString{{String: plain, Valid: true}, {}},
		"array result, of strings and NULLs")
	_, err = db.Exec("SELECT $1::sno", "not an id")
	fails("22P02", err, "bad id: 22P02")

	// What the recipe adds.
	var ada, bob Sno
	scan(&ada, "SELECT id FROM person")
	same(ada.String(), plain, "result, typed")
	_, err = ParseSno("not an id")
	ok(err != nil, "bad id: refused by its type")
	_, err = ParseSno("22222222\n22222222")
	ok(err != nil, "a line break, too")
	friendly, err := example(db)
	must(err)
	same(texts("SELECT name FROM person WHERE id = ANY ($1) AND id > $2", pq.Array(friendly), ada),
		[]string{"Ada"}, "example")
	_, err = db.Exec("DELETE FROM person WHERE id > $1", ada)
	must(err)
	scan(&bob, "INSERT INTO person (name, friends) VALUES ('Bob', $1) RETURNING id",
		pq.Array([]Sno{ada}))
	same(texts("SELECT name FROM person WHERE id = $1", bob), []string{"Bob"}, "RETURNING")
	var ids []Sno
	scan(pq.Array(&ids), "SELECT friends FROM person WHERE id = $1", bob)
	same(ids, []Sno{ada}, "array result")
	same(texts("SELECT name FROM person WHERE id = ANY ($1) ORDER BY id", pq.Array([]Sno{bob, ada})),
		[]string{"Ada", "Bob"}, "array parameter")
	same(texts("SELECT name FROM person WHERE id = ANY ($1)", pq.Array([]Sno{})),
		[]string(nil), "array parameter, empty")
	var none *Sno
	scan(&none, "SELECT $1::sno", none)
	same(none, (*Sno)(nil), "NULL")
	scan(&none, "SELECT $1::sno", &ada)
	same(none, &ada, "not NULL")

	// Times.
	now := time.Now()
	same(texts("SELECT name FROM person WHERE id <@ tstzrange($1, $2) ORDER BY id",
		now.Add(-time.Hour), now.Add(time.Hour)), []string{"Ada", "Bob"}, "id <@ tstzrange")
	same(texts("SELECT name FROM person WHERE id <@ $1::tstzrange", "[,2026-01-01)"),
		[]string(nil), "id <@ tstzrange, before")

	// A prepared statement.
	statement, err := db.Prepare("SELECT name FROM person WHERE id = $1")
	must(err)
	for _, id := range []Sno{ada, bob} {
		var name string
		must(statement.QueryRow(id).Scan(&name))
		same(name, map[Sno]string{ada: "Ada", bob: "Bob"}[id], "prepared statement, "+name)
	}

	// COPY, inwards and as text only.
	copied := func(id interface{}) error {
		transaction, err := db.Begin()
		must(err)
		defer transaction.Rollback()
		rows, err := transaction.Prepare(pq.CopyIn("person", "id", "name", "friends"))
		must(err)
		_, err = rows.Exec(id, "Cy", pq.Array([]Sno{ada, bob}))
		must(err)
		if _, err = rows.Exec(); err != nil {
			return err
		}
		must(rows.Close())
		return transaction.Commit()
	}
	var cy Sno
	scan(&cy, "SELECT sno_generate()")
	must(copied(cy))
	same(texts("SELECT name FROM person WHERE id = $1 AND friends = $2", cy,
		pq.Array([]Sno{ada, bob})), []string{"Cy"}, "COPY")
	fails("22P02", copied("not an id"), "bad id in COPY: 22P02")

	// Parameters as the 10 bytes, and the server's answer as text.
	db, err = sql.Open("postgres", "binary_parameters=yes")
	must(err)
	some, err := db.Query(`SELECT id, id::bytea FROM (
		VALUES (sno_zero()), (sno_max('infinity'))
		UNION ALL SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)`)
	must(err)
	count, good := 0, true
	for some.Next() {
		var id, back Sno
		var bytes []byte
		must(some.Scan(&id, &bytes))
		scan(&back, "SELECT $1::sno", id[:])
		count++
		good = good && string(id[:]) == string(bytes) && back == id
	}
	must(some.Err())
	ok(good && count == 258, "parameters, binary", count)
	same(texts("SELECT name FROM person WHERE id = $1", ada), []string{"Ada"},
		"parameter, text beside binary ones")
	_, err = db.Exec("SELECT $1::sno", []byte("short"))
	fails("22P03", err, "bad bytes: 22P03")

	done()
}
