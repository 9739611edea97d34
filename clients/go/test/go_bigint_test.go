// Keys of type bigint, by lib/pq and pgx 4 alone: doc/drivers.md, "Keys of type bigint".

package main

import (
	"database/sql"
	"encoding/json"
	"os"

	_ "github.com/jackc/pgx/v4/stdlib"
	"github.com/lib/pq"
)

// No float64 is this number.
const odd int64 = 1<<53 + 1

const last int64 = 1<<63 - 1

func drivers(driver string) {
	db, err := sql.Open(driver, "")
	must(err)
	defer db.Close()
	name := driver + ": "
	scan := func(dst interface{}, query string, args ...interface{}) {
		must(db.QueryRow(query, args...).Scan(dst))
	}

	var ada, letter, id int64
	var found string
	scan(&ada, "INSERT INTO people (name) VALUES ($1) RETURNING id", "Ada")
	ok(ada > 1<<60, name+"a new key", ada)
	scan(&found, "SELECT name FROM people WHERE id = $1", ada)
	same(found, "Ada", name+"found by its key")
	scan(&found, "SELECT name FROM people WHERE id = ANY ($1)", pq.Array([]int64{odd, ada}))
	same(found, "Ada", name+"found by a list of keys")
	scan(&letter, "INSERT INTO letters (person_id) VALUES ($1) RETURNING id", ada)
	scan(&id, "SELECT l.id FROM letters AS l JOIN people AS p ON p.id = person_id WHERE name = 'Ada'")
	same(id, letter, name+"a join")
	for _, key := range []int64{odd, last} {
		scan(&id, "INSERT INTO people VALUES ($1, 'given') RETURNING id", key)
		same(id, key, name+"an exact key, there and back")
	}
	var text []byte
	scan(&text, "SELECT row_to_json(p) FROM people AS p WHERE id = $1", odd)
	var person struct{ ID int64 }
	must(json.Unmarshal(text, &person))
	same(person.ID, odd, name+"a number in JSON is exact")
	var any map[string]interface{}
	must(json.Unmarshal(text, &any))
	same(any["id"], float64(1<<53), name+"but not as a float64")
	_, err = db.Exec("TRUNCATE people, letters")
	must(err)
}

func main() {
	db, err := sql.Open("postgres", "")
	must(err)
	tables, err := os.ReadFile(os.Getenv("CLIENTS") + "/bigint.sql")
	must(err)
	_, err = db.Exec(string(tables))
	must(err)
	drivers("postgres")
	drivers("pgx")
	done()
}
