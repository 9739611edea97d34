// pgx: text, and binary for what is registered.

package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
)

var (
	ctx  = context.Background()
	conn *pgx.Conn
)

// The rows of one column of text.
func texts(query string, args ...interface{}) (found []string) {
	rows, err := conn.Query(ctx, query, args...)
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
	must(conn.QueryRow(ctx, query, args...).Scan(dst))
}

func fails(state string, err error, name string) {
	var failure *pgconn.PgError
	ok(errors.As(err, &failure) && failure.Code == state, name, err)
}

func exec(query string, args ...interface{}) error {
	_, err := conn.Exec(ctx, query, args...)
	return err
}

func withoutRecipe() {
	var plain string
	scan(&plain, "INSERT INTO person (name) VALUES ($1) RETURNING id", "Ada")
	same(texts("SELECT id::text FROM person"), []string{plain}, "RETURNING: text")
	same(texts("SELECT name FROM person WHERE id = $1", plain), []string{"Ada"},
		"parameter, untyped")
	same(texts("SELECT pg_typeof($1::sno)::text", plain), []string{"sno"}, "parameter, typed")
	same(texts("SELECT name FROM person WHERE id = ANY ($1)", []string{plain}),
		[]string{"Ada"}, "array parameter, of strings")
	var friends []*string
	scan(&friends, "SELECT ARRAY[id, NULL]::text[] FROM person")
	same(friends, []*string{&plain, nil}, "array result, as text")
	fails("22P02", exec("SELECT $1::sno", "not an id"), "bad id: 22P02")

	// A Sno alone is a value, and a destination, of text.
	var id Sno
	scan(&id, "SELECT id FROM person WHERE id = $1", mustParse(plain))
	same(id.String(), plain, "parameter and result, text")
	must(exec("TRUNCATE person"))
}

func mustParse(text string) Sno {
	id, err := ParseSno(text)
	must(err)
	return id
}

func withRecipe() {
	friendly, err := example(ctx, conn)
	must(err)
	same(texts("SELECT name FROM person WHERE id = ANY ($1)", friendly), []string{"Ada"}, "example")
	must(exec("TRUNCATE person"))

	var ada, bob Sno
	scan(&ada, "INSERT INTO person (name) VALUES ('Ada') RETURNING id")
	scan(&bob, "INSERT INTO person (name, friends) VALUES ('Bob', $1) RETURNING id",
		[]*Sno{&ada, nil})
	same(texts("SELECT name FROM person WHERE id = $1", bob), []string{"Bob"}, "RETURNING")
	same(texts("SELECT name FROM person WHERE id = $1", bob.String()), []string{"Bob"},
		"parameter, text")
	rows, err := conn.Query(ctx, "SELECT id, friends FROM person ORDER BY id")
	must(err)
	for _, field := range rows.FieldDescriptions() {
		same(field.Format, int16(pgx.BinaryFormatCode), "binary result, "+string(field.Name))
	}
	ok(rows.Next(), "a row")
	values, err := rows.Values()
	must(err)
	same(values, []interface{}{ada, nil}, "values of any type")
	rows.Close()

	var friends []*Sno
	scan(&friends, "SELECT friends FROM person WHERE id = $1", bob)
	same(friends, []*Sno{&ada, nil}, "array result")
	var strict []Sno
	err = conn.QueryRow(ctx, "SELECT friends FROM person WHERE id = $1", bob).Scan(&strict)
	ok(err != nil, "an array with NULL is none of Sno", strict)
	same(texts("SELECT name FROM person WHERE id = ANY ($1) ORDER BY id", []Sno{bob, ada}),
		[]string{"Ada", "Bob"}, "array parameter")
	same(texts("SELECT name FROM person WHERE id = ANY ($1)", []string{ada.String()}),
		[]string{"Ada"}, "array parameter, of strings, registered")
	same(texts("SELECT name FROM person WHERE id = ANY ($1)", []Sno{}),
		[]string(nil), "array parameter, empty")
	var none *Sno
	scan(&none, "SELECT $1::sno", none)
	same(none, (*Sno)(nil), "NULL")
	scan(&none, "SELECT $1::sno", &ada)
	same(none, &ada, "not NULL")

	// Both forms of the ends and of some ids between.
	some, err := conn.Query(ctx, `SELECT id, id::text, id::bytea FROM (
		VALUES (sno_zero()), (sno_max('infinity'))
		UNION ALL SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)`)
	must(err)
	var ids, parsed []Sno
	good := true
	for some.Next() {
		var id Sno
		var text string
		var form []byte
		must(some.Scan(&id, &text, &form))
		ids, parsed = append(ids, id), append(parsed, mustParse(text))
		good = good && bytes.Equal(id[:], form)
	}
	must(some.Err())
	ok(good && len(ids) == 258, "results, binary", len(ids))
	same(ids, parsed, "results, binary and text")
	var back []Sno
	scan(&back, "SELECT $1::sno[]", ids)
	same(back, ids, "parameters, binary")

	now := time.Now()
	same(texts("SELECT name FROM person WHERE id <@ tstzrange($1, $2) ORDER BY id",
		now.Add(-time.Hour), now.Add(time.Hour)), []string{"Ada", "Bob"}, "id <@ tstzrange")
	same(texts("SELECT name FROM person WHERE id <@ $1::tstzrange", "[,2026-01-01)"),
		[]string(nil), "id <@ tstzrange, before")

	_, err = conn.Prepare(ctx, "name_of", "SELECT name FROM person WHERE id = $1")
	must(err)
	same(texts("name_of", ada), []string{"Ada"}, "prepared statement, typed")
	same(texts("name_of", bob.String()), []string{"Bob"}, "prepared statement, text")
	same(texts("SELECT name FROM person WHERE id = $1", pgx.QuerySimpleProtocol(true), ada),
		[]string{"Ada"}, "simple protocol")

	// COPY: rows by CopyFrom, which is binary, and whatever comes, unseen.
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"person"}, []string{"id", "name", "friends"},
		pgx.CopyFromRows([][]interface{}{{ids[0], "Cy", []Sno{ada, bob}}}))
	must(err)
	same(texts("SELECT name FROM person WHERE id = $1 AND friends = $2", ids[0], []Sno{ada, bob}),
		[]string{"Cy"}, "CopyFrom")
	for _, options := range []string{"", "(FORMAT csv)", "(FORMAT binary)"} {
		var data bytes.Buffer
		_, err := conn.PgConn().CopyTo(ctx, &data, "COPY person TO STDOUT "+options)
		must(err)
		form := []byte(ada.String())
		if strings.Contains(options, "binary") {
			form = ada[:]
		}
		ok(bytes.Contains(data.Bytes(), form), "ids in COPY "+options, data.Bytes())
		must(exec("CREATE TABLE kept AS TABLE person"))
		must(exec("TRUNCATE person"))
		_, err = conn.PgConn().CopyFrom(ctx, &data, "COPY person FROM STDIN "+options)
		must(err)
		same(texts(`SELECT name FROM ((TABLE person EXCEPT TABLE kept)
			UNION ALL (TABLE kept EXCEPT TABLE person)) AS other`), []string(nil), "COPY "+options)
		must(exec("DROP TABLE kept"))
	}
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("not an id\n"),
		"COPY person (id) FROM STDIN")
	fails("22P02", err, "bad id in COPY: 22P02")
}

func main() {
	var err error
	conn, err = pgx.Connect(ctx, "")
	must(err)
	defer conn.Close(ctx)
	withoutRecipe()
	must(registerSno(ctx, conn))
	withRecipe()
	done()
}
