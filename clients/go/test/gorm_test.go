// GORM with keys of type bigint: doc/drivers.md, "Keys of type bigint".

package main

import (
	"database/sql"
	"os"

	"github.com/jinzhu/gorm"
	_ "github.com/lib/pq"
)

// No float64 is this number.
const odd int64 = 1<<53 + 1

// Person and Letter are models of GORM.
type Person struct {
	ID   int64 `gorm:"primary_key"`
	Name string
}

type Letter struct {
	ID       int64 `gorm:"primary_key"`
	Person   Person
	PersonID int64
}

func main() {
	server, err := sql.Open("postgres", "")
	must(err)
	tables, err := os.ReadFile(os.Getenv("CLIENTS") + "/bigint.sql")
	must(err)
	_, err = server.Exec(string(tables))
	must(err)


	db, err := gorm.Open("postgres", "")
	must(err)
	defer db.Close()
	ada := Person{Name: "Ada"}
	must(db.Create(&ada).Error)
	ok(ada.ID > 1<<60, "a new key", ada)
	var found Person
	must(db.First(&found, ada.ID).Error)
	same(found, ada, "found by its key")
	must(db.Create(&Person{ID: odd, Name: "odd"}).Error)
	var people []Person
	must(db.Order("id").Find(&people, []int64{ada.ID, odd}).Error)
	same(people, []Person{{odd, "odd"}, ada}, "found by a list of keys")
	letter := Letter{Person: Person{Name: "Bob"}}
	must(db.Create(&letter).Error)
	var letters []Letter
	must(db.Preload("Person").Joins("JOIN people ON people.id = person_id").Find(&letters, "name = ?", "Bob").Error)
	same(letters, []Letter{letter}, "a reference")
	done()
}
