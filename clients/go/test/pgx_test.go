// pgx 5 with the codec, and without.

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"sno.example/clients/go"
	"sno.example/clients/go/pgxsno"
)

var (
	ctx  = context.Background()
	conn *pgx.Conn
)

// The rows of one column of text.
func texts(query string, args ...any) []string {
	rows, err := conn.Query(ctx, query, args...)
	must(err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(err)
	return found
}

func scan(dst any, query string, args ...any) {
	must(conn.QueryRow(ctx, query, args...).Scan(dst))
}

func fails(state string, err error, name string) {
	var failure *pgconn.PgError
	ok(errors.As(err, &failure) && failure.Code == state, name, err)
}

func exec(query string, args ...any) error {
	_, err := conn.Exec(ctx, query, args...)
	return err
}

func withoutCodec() {
	var ada sno.ID
	scan(&ada, "INSERT INTO customers (name) VALUES ('Ada') RETURNING id")
	same(texts("SELECT name FROM customers WHERE id = $1", ada), []string{"Ada"}, "without: parameter and result")
	same(texts("SELECT name FROM customers WHERE id = $1", ada.String()), []string{"Ada"}, "without: a string")
	same(texts("SELECT name FROM customers WHERE id = ANY ($1)", []string{ada.String()}), []string{"Ada"},
		"without: array of strings")
	var ids []string
	scan(&ids, "SELECT array_agg(id)::text[] FROM customers")
	same(ids, []string{ada.String()}, "without: array result, as text")
	fails("22P02", exec("SELECT $1::sno", "not an id"), "without: a wrong id: 22P02")
	must(exec("TRUNCATE customers, orders"))
}

func withCodec(mode pgx.QueryExecMode) {
	name := mode.String() + ": "
	// Modes that don't ask for the types of parameters know those of Go only.
	described := mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol
	var ada, bob, order sno.ID
	scan(&ada, "INSERT INTO customers (name) VALUES ('Ada') RETURNING id")
	scan(&bob, "INSERT INTO customers (name) VALUES ('Bob') RETURNING id")
	same(texts("SELECT id::text FROM customers ORDER BY id"), []string{ada.String(), bob.String()}, name+"RETURNING")
	same(texts("SELECT id FROM customers ORDER BY id"), []string{ada.String(), bob.String()}, name+"results as strings")
	same(texts("SELECT name FROM customers WHERE id = $1", ada), []string{"Ada"}, name+"parameter")
	same(texts("SELECT name FROM customers WHERE id = $1", ada.String()), []string{"Ada"}, name+"parameter, a string")
	same(texts("SELECT name FROM customers WHERE id = ANY ($1) ORDER BY id", []sno.ID{bob, ada}), []string{"Ada", "Bob"},
		name+"= ANY")
	same(texts("SELECT name FROM customers WHERE id = ANY ($1)", []sno.ID{}), []string{}, name+"= ANY, empty")
	ofStrings := map[bool]string{true: "$1", false: "$1::sno[]"}[described]
	same(texts("SELECT name FROM customers WHERE id = ANY ("+ofStrings+")", []string{ada.String()}), []string{"Ada"},
		name+"= ANY, of strings")

	rows, err := conn.Query(ctx, "SELECT id, ARRAY[id, NULL], NULL::sno FROM customers WHERE name = 'Ada'")
	must(err)
	for _, field := range rows.FieldDescriptions() {
		same(field.Format == pgx.BinaryFormatCode, described, name+"format of "+field.Name)
	}
	ok(rows.Next(), name+"a row")
	values, err := rows.Values()
	must(err)
	same(values, []any{ada, []any{ada, nil}, nil}, name+"values of any type")
	rows.Close()

	insert := "INSERT INTO orders (customer_id, related) VALUES ($1, $2) RETURNING id"
	var related []*sno.ID
	must(conn.QueryRow(ctx, insert, ada, []*sno.ID{&ada, nil}).Scan(&order))
	scan(&related, "SELECT related FROM orders WHERE id = $1", order)
	same(related, []*sno.ID{&ada, nil}, name+"array with a null")
	var nullable []sno.NullID
	must(conn.QueryRow(ctx, insert, ada, []sno.NullID{{ID: bob, Valid: true}, {}}).Scan(&order))
	scan(&nullable, "SELECT related FROM orders WHERE id = $1", order)
	same(nullable, []sno.NullID{{ID: bob, Valid: true}, {}}, name+"array of NullID")
	var strict []sno.ID
	ok(conn.QueryRow(ctx, "SELECT related FROM orders WHERE id = $1", order).Scan(&strict) != nil,
		name+"a null is none of ID", strict)
	if described {
		var square [][]sno.ID
		must(conn.QueryRow(ctx, insert, bob, [][]sno.ID{{ada}, {bob}}).Scan(&order))
		scan(&square, "SELECT related FROM orders WHERE id = $1", order)
		same(square, [][]sno.ID{{ada}, {bob}}, name+"array of two dimensions")
	}
	must(conn.QueryRow(ctx, insert, bob, []sno.ID(nil)).Scan(&order))
	scan(&strict, "SELECT related FROM orders WHERE id = $1", order)
	same(strict, []sno.ID(nil), name+"array that is NULL")

	var none *sno.ID
	scan(&none, "SELECT $1::sno", none)
	same(none, (*sno.ID)(nil), name+"NULL")
	scan(&none, "SELECT $1::sno", &ada)
	same(none, &ada, name+"not NULL")
	var maybe sno.NullID
	scan(&maybe, "SELECT $1::sno", sno.NullID{ID: ada, Valid: true})
	same(maybe, sno.NullID{ID: ada, Valid: true}, name+"NullID, not NULL")
	scan(&maybe, "SELECT $1::sno", sno.NullID{})
	same(maybe, sno.NullID{}, name+"NullID, NULL")
	var id sno.ID
	ok(conn.QueryRow(ctx, "SELECT NULL::sno").Scan(&id) != nil, name+"NULL is no ID")
	var text *string
	scan(&text, "SELECT NULL::sno")
	same(text, (*string)(nil), name+"NULL as a string")

	// Both forms of the ends and of some ids between.
	some, err := conn.Query(ctx, `SELECT id, id::text, id::bytea FROM (
		VALUES (sno_zero()), (sno_max('infinity'))
		UNION ALL SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)`)
	must(err)
	var ids []sno.ID
	good := true
	for some.Next() {
		var id sno.ID
		var text string
		var form []byte
		must(some.Scan(&id, &text, &form))
		ids = append(ids, id)
		good = good && bytes.Equal(id[:], form) && id.String() == text
	}
	must(some.Err())
	ok(good && len(ids) == 258, name+"results", len(ids))
	var back []sno.ID
	scan(&back, "SELECT $1::sno[]", ids)
	same(back, ids, name+"an array there and back")

	now := time.Now()
	same(texts("SELECT name FROM customers WHERE id <@ tstzrange($1, $2) ORDER BY id", now.Add(-time.Hour), now.Add(time.Hour)),
		[]string{"Ada", "Bob"}, name+"id <@ tstzrange")
	same(texts("SELECT name FROM customers WHERE id <@ tstzrange(NULL, $1)", now.Add(-time.Hour)), []string{},
		name+"id <@ tstzrange, before")
	same(texts("SELECT name FROM customers WHERE id BETWEEN $1 AND $2 ORDER BY id", sno.Min(ada.Time()), sno.Max(bob.Time())),
		[]string{"Ada", "Bob"}, name+"bounds")
	same(texts("SELECT DISTINCT name FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE o.id = $1", order),
		[]string{"Bob"}, name+"join")

	if described {
		ok(exec("SELECT $1::sno[]", []string{"not an id"}) != nil, name+"a wrong element: refused by the codec")
	}
	fails("22P02", exec("SELECT $1::sno", "not an id"), name+"a wrong id: 22P02")
	fails("22P02", exec("SELECT $1::sno", strings.ToUpper(ada.String())), name+"uppercase: 22P02")

	must(exec("CREATE DOMAIN user_id AS sno CHECK (sno_meta(VALUE) = 1)"))
	scan(&id, "SELECT $1::user_id", ada)
	same(id, ada, name+"domain")
	fails("23514", exec("SELECT $1::user_id", order), name+"its check")
	must(exec("DROP DOMAIN user_id"))
	must(exec("TRUNCATE customers, orders"))
}

// COPY: rows by CopyFrom, which is binary, and whatever comes, unseen.
func copies() {
	var ada, cy sno.ID
	scan(&ada, "INSERT INTO customers (name) VALUES ('Ada') RETURNING id")
	scan(&cy, "SELECT sno_generate(1)")
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "customer_id", "related"},
		pgx.CopyFromRows([][]any{{cy, ada.String(), []*sno.ID{&ada, nil}}}))
	must(err)
	var related []*sno.ID
	scan(&related, "SELECT related FROM orders WHERE (id, customer_id) = ($1, $2)", cy, ada)
	same(related, []*sno.ID{&ada, nil}, "CopyFrom")
	for _, options := range []string{"", "(FORMAT csv)", "(FORMAT binary)"} {
		var data bytes.Buffer
		_, err := conn.PgConn().CopyTo(ctx, &data, "COPY orders TO STDOUT "+options)
		must(err)
		must(exec("TRUNCATE orders"))
		_, err = conn.PgConn().CopyFrom(ctx, &data, "COPY orders FROM STDIN "+options)
		must(err)
		same(texts("SELECT id FROM orders"), []string{cy.String()}, "COPY "+options)
	}
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("not an id\n"), "COPY customers (id) FROM STDIN")
	fails("22P02", err, "a wrong id in COPY: 22P02")
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id"}, pgx.CopyFromRows([][]any{{"not an id"}}))
	ok(err != nil, "a wrong id in CopyFrom: refused by the codec")
}

// Rows whose keys are made here, and rows that refer to them.
func madeHere() {
	pool, err := pgxpool.New(ctx, "")
	must(err)
	defer pool.Close()
	ids, err := sno.NewGenerator(sno.Loans(sno.DB(stdlib.OpenDBFromPool(pool))))
	must(err)
	defer ids.Close()
	var customers, orders [][]any
	var keys []sno.ID
	for i := 0; i < 1000; i++ {
		customer, err := ids.Next(1)
		must(err)
		order, err := ids.Next(2)
		must(err)
		customers = append(customers, []any{customer, fmt.Sprint(i)})
		orders = append(orders, []any{order, customer, []sno.ID{customer, order}})
		keys = append(keys, order)
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"customers"}, []string{"id", "name"}, pgx.CopyFromRows(customers))
	must(err)
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "customer_id", "related"}, pgx.CopyFromRows(orders))
	must(err)
	var found []sno.ID
	scan(&found, "SELECT array_agg(id ORDER BY id) FROM orders WHERE related = ARRAY[customer_id, id]")
	same(found, keys, "CopyFrom: rows with keys made here, and rows that refer to them")
	must(exec("TRUNCATE customers, orders"))
}

// A pool, in a database that has another type of that name.
func pool() {
	database := os.Getenv("PGDATABASE") + "_pool"
	must(exec("CREATE DATABASE " + database))
	other, err := pgx.Connect(ctx, "dbname="+database)
	must(err)
	err = pgxsno.Register(ctx, other)
	ok(errors.Is(err, pgx.ErrNoRows), "no extension: an error", err)
	_, err = other.Exec(ctx, `CREATE EXTENSION sno; CREATE TYPE public.sno AS ENUM ('another');
		CREATE TABLE t (id sno DEFAULT sno_generate(1), ids sno[])`)
	must(err)
	must(other.Close(ctx))

	config, err := pgxpool.ParseConfig("dbname=" + database)
	must(err)
	config.AfterConnect = pgxsno.Register
	connections, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	defer connections.Close()
	id, err := sno.Parse("brpk4q72xwf2m63l")
	must(err)
	var made sno.ID
	must(connections.QueryRow(ctx, "INSERT INTO t (ids) VALUES ($1) RETURNING id", []sno.ID{id}).Scan(&made))
	var back []sno.ID
	must(connections.QueryRow(ctx, "SELECT ids FROM t WHERE id = $1", made).Scan(&back))
	same(back, []sno.ID{id}, "a pool")
}

func standard() {
	db, err := sql.Open("pgx", "")
	must(err)
	defer db.Close()
	var ada sno.ID
	must(db.QueryRow("INSERT INTO customers (name) VALUES ('Ada') RETURNING id").Scan(&ada))
	var name string
	must(db.QueryRow("SELECT name FROM customers WHERE id = $1", ada).Scan(&name))
	same(name, "Ada", "database/sql")
	none := sno.NullID{ID: ada, Valid: true}
	must(db.QueryRow("SELECT $1::sno", sno.NullID{}).Scan(&none))
	same(none, sno.NullID{}, "database/sql: NULL")
}

func main() {
	var err error
	conn, err = pgx.Connect(ctx, "")
	must(err)
	withoutCodec()
	must(conn.Close(ctx))
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		config, err := pgx.ParseConfig("")
		must(err)
		config.DefaultQueryExecMode = mode
		conn, err = pgx.ConnectConfig(ctx, config)
		must(err)
		must(pgxsno.Register(ctx, conn))
		withCodec(mode)
		if mode != pgx.QueryExecModeSimpleProtocol {
			must(conn.Close(ctx))
		}
	}
	madeHere()
	copies()
	pool()
	standard()
	done()
}
