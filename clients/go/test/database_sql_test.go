// database/sql with lib/pq, and with pgx 4.

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v4/stdlib"
	"github.com/lib/pq"
	"sno.example/clients/go"
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

func exec(query string, args ...interface{}) error {
	_, err := db.Exec(query, args...)
	return err
}

// Both drivers have an error with this method.
func fails(state string, err error, name string) {
	failure, isFailure := err.(interface{ SQLState() string })
	ok(isFailure && failure.SQLState() == state, name, err)
}

func mustParse(text string) sno.ID {
	id, err := sno.Parse(text)
	must(err)
	return id
}

func common(name string) {
	var ada, bob, order sno.ID
	scan(&ada, "INSERT INTO customers (name) VALUES ($1) RETURNING id", "Ada")
	scan(&bob, "INSERT INTO customers (name) VALUES ($1) RETURNING id", "Bob")
	same(texts("SELECT id::text FROM customers ORDER BY id"), []string{ada.String(), bob.String()}, name+"RETURNING")
	same(texts("SELECT name FROM customers WHERE id = $1", ada), []string{"Ada"}, name+"parameter")
	same(texts("SELECT name FROM customers WHERE id = $1", ada.String()), []string{"Ada"}, name+"parameter, a string")
	same(texts("SELECT name FROM customers WHERE id = ANY ($1::sno[]) ORDER BY id", pq.Array([]sno.ID{bob, ada})),
		[]string{"Ada", "Bob"}, name+"= ANY")
	same(texts("SELECT name FROM customers WHERE id = ANY ($1::sno[])", pq.Array([]sno.ID{})), []string(nil),
		name+"= ANY, empty")

	insert := "INSERT INTO orders (customer_id, related) VALUES ($1, $2) RETURNING id"
	must(db.QueryRow(insert, ada, pq.Array([]sno.NullID{{ID: ada, Valid: true}, {}})).Scan(&order))
	var related []sno.NullID
	scan(pq.Array(&related), "SELECT related FROM orders WHERE id = $1", order)
	same(related, []sno.NullID{{ID: ada, Valid: true}, {}}, name+"array with a null")
	var strict []sno.ID
	ok(db.QueryRow("SELECT related FROM orders WHERE id = $1", order).Scan(pq.Array(&strict)) != nil,
		name+"a null is none of ID", strict)
	must(db.QueryRow(insert, bob, pq.Array([]sno.ID{ada, bob})).Scan(&order))
	scan(pq.Array(&strict), "SELECT related FROM orders WHERE id = $1", order)
	same(strict, []sno.ID{ada, bob}, name+"array without nulls")
	must(db.QueryRow(insert, bob, pq.Array([][]sno.ID{{ada}, {bob}})).Scan(&order))
	same(texts("SELECT related FROM orders WHERE id = $1", order), []string{fmt.Sprintf("{{%v},{%v}}", ada, bob)},
		name+"array of two dimensions, as a parameter")
	must(db.QueryRow(insert, bob, pq.Array([]sno.ID(nil))).Scan(&order))
	strict = []sno.ID{ada}
	scan(pq.Array(&strict), "SELECT related FROM orders WHERE id = $1", order)
	same(strict, []sno.ID(nil), name+"array that is NULL")

	var none *sno.ID
	scan(&none, "SELECT $1::sno", none)
	same(none, (*sno.ID)(nil), name+"NULL")
	scan(&none, "SELECT $1::sno", &ada)
	same(none, &ada, name+"not NULL")
	maybe := sno.NullID{ID: ada, Valid: true}
	scan(&maybe, "SELECT $1::sno", sno.NullID{})
	same(maybe, sno.NullID{}, name+"NullID, NULL")
	scan(&maybe, "SELECT $1::sno", sno.NullID{ID: bob, Valid: true})
	same(maybe, sno.NullID{ID: bob, Valid: true}, name+"NullID, not NULL")
	var id sno.ID
	ok(db.QueryRow("SELECT NULL::sno").Scan(&id) != nil, name+"NULL is no ID")
	scan(&id, "SELECT $1::sno::bytea", ada)
	same(id, ada, name+"a bytea is an ID")

	now := time.Now()
	same(texts("SELECT name FROM customers WHERE id <@ tstzrange($1, $2) ORDER BY id", now.Add(-time.Hour), now.Add(time.Hour)),
		[]string{"Ada", "Bob"}, name+"id <@ tstzrange")
	same(texts("SELECT name FROM customers WHERE id <@ tstzrange(NULL, $1)", now.Add(-time.Hour)), []string(nil),
		name+"id <@ tstzrange, before")
	same(texts("SELECT name FROM customers WHERE id BETWEEN $1 AND $2 ORDER BY id", sno.Min(ada.Time()), sno.Max(bob.Time())),
		[]string{"Ada", "Bob"}, name+"bounds")
	same(texts("SELECT DISTINCT name FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE o.id = $1", order),
		[]string{"Bob"}, name+"join")

	statement, err := db.Prepare("SELECT name FROM customers WHERE id = $1")
	must(err)
	var pool sync.WaitGroup
	var names [2][4]string
	for i := range names[0] {
		pool.Add(1)
		go func(i int) {
			defer pool.Done()
			for j, id := range []sno.ID{ada, bob} {
				must(statement.QueryRow(id).Scan(&names[j][i]))
			}
		}(i)
	}
	pool.Wait()
	same(names, [2][4]string{{"Ada", "Ada", "Ada", "Ada"}, {"Bob", "Bob", "Bob", "Bob"}}, name+"prepared statement, in a pool")

	fails("22P02", exec("SELECT $1::sno", "not an id"), name+"a wrong id: 22P02")
	fails("22P02", exec("SELECT $1::sno[]", "{x}"), name+"a wrong element: 22P02")
	fails("22P02", exec("SELECT $1::sno", "BRPK4Q72XWF2M63L"), name+"uppercase: 22P02")

	must(exec("CREATE DOMAIN user_id AS sno CHECK (sno_meta(VALUE) = 1)"))
	scan(&id, "SELECT $1::user_id", ada)
	same(id, ada, name+"domain")
	fails("23514", exec("SELECT $1::user_id", order), name+"its check")
	must(exec("DROP DOMAIN user_id; TRUNCATE customers, orders"))
}

func copies() {
	copied := func(id interface{}) error {
		transaction, err := db.Begin()
		must(err)
		defer transaction.Rollback()
		rows, err := transaction.Prepare(pq.CopyIn("customers", "id", "name"))
		must(err)
		_, err = rows.Exec(id, "Cy")
		must(err)
		if _, err = rows.Exec(); err != nil {
			return err
		}
		must(rows.Close())
		return transaction.Commit()
	}
	cy := mustParse("brpk4q72xwf2m63l")
	must(copied(cy))
	same(texts("SELECT name FROM customers WHERE id = $1", cy), []string{"Cy"}, "lib/pq: COPY")
	fails("22P02", copied("not an id"), "lib/pq: a wrong id in COPY: 22P02")
}

// Parameters as the 10 bytes.
func binaries() {
	var err error
	db, err = sql.Open("postgres", "binary_parameters=yes")
	must(err)
	id := mustParse("brpk4q72xwf2m63l")
	var back sno.ID
	scan(&back, "SELECT $1::sno", id[:])
	same(back, id, "lib/pq: parameter, binary")
	scan(&back, "SELECT $1::sno", id)
	same(back, id, "lib/pq: parameter, text beside binary ones")
	fails("22P03", exec("SELECT $1::sno", []byte("short")), "lib/pq: wrong bytes: 22P03")
}

// Rows whose keys are made here, and rows that refer to them.
func madeHere(name string) {
	ids, err := sno.NewGenerator(sno.Loans(sno.DB(db)))
	must(err)
	defer ids.Close()
	var customers, orders []sno.ID
	var names []string
	for i := 0; i < 1000; i++ {
		customer, err := ids.Next(1)
		must(err)
		order, err := ids.Next(2)
		must(err)
		customers, orders, names = append(customers, customer), append(orders, order), append(names, fmt.Sprint(i))
	}
	must(exec("INSERT INTO customers (id, name) SELECT * FROM unnest($1::sno[], $2::text[])", pq.Array(customers), pq.Array(names)))
	must(exec("INSERT INTO orders (id, customer_id) SELECT * FROM unnest($1::sno[], $2::sno[])", pq.Array(orders), pq.Array(customers)))
	same(texts("SELECT c.name FROM customers AS c JOIN orders AS o ON customer_id = c.id WHERE o.id = ANY ($1::sno[]) ORDER BY o.id",
		pq.Array(orders)), names, name+"rows with keys made here, and rows that refer to them")

	// A loan whose transaction doesn't commit is none.
	must(exec(`CREATE TABLE lent (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)`))
	must(exec(`INSERT INTO lent VALUES (1)`))
	must(exec(`CREATE FUNCTION lend(OUT snapshot jsonb, OUT until timestamptz)
		BEGIN ATOMIC INSERT INTO lent VALUES (1); SELECT * FROM sno_borrow_partition(); END`))
	none, err := sno.NewGenerator(sno.Loans(sno.DB(db), sno.WithCall("lend()")))
	must(err)
	_, err = none.Next(0)
	var out *sno.OutOfIDsError
	ok(errors.As(err, &out), name+"no commit, no loan", err)
	fails("23505", errors.Unwrap(err), name+"no commit: the cause")
	must(exec("DROP FUNCTION lend"))
	must(exec("DROP TABLE lent"))
	_, err = sno.DB(db)(context.Background(), "SELECT NULL")
	ok(err != nil, name+"a query returns no NULL", err)
	_, err = sno.DB(db)(context.Background(), "SELECT 1 / (5 - n) FROM generate_series(1, 5) AS n")
	fails("22012", err, name+"a query that fails after some rows")
}

func main() {
	var err error
	for _, driver := range []string{"postgres", "pgx"} {
		db, err = sql.Open(driver, "")
		must(err)
		common(driver + ": ")
		madeHere(driver + ": ")
		if driver == "postgres" {
			copies()
			must(exec("TRUNCATE customers, orders"))
		}
	}
	binaries()
	done()
}
