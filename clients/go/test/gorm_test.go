// GORM with keys of type bigint: doc/drivers.md, "Keys of type bigint".  And with keys that
// the application makes: clients/go/README.md.

package main

import (
	"database/sql"
	"errors"
	"os"

	"github.com/jinzhu/gorm"
	_ "github.com/lib/pq"
	"sno.example/clients/go"
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

var ids *sno.Generator

// README.md: gorm

// Order is a model that refers to a Customer.
type Order struct {
	ID         sno.ID `gorm:"primary_key"`
	Customer   Customer
	CustomerID sno.ID
}

// BeforeCreate makes the key.
func (o *Order) BeforeCreate(*gorm.DB) (err error) {
	o.ID, err = ids.Next(2)
	return err
}

func madeHere(server *sql.DB, db *gorm.DB) {
	var err error
	ids, err = sno.NewGenerator(sno.Loans(sno.DB(server)))
	must(err)
	orders := []Order{{Customer: Customer{Name: "Ada"}}, {Customer: Customer{Name: "Bob"}}}
	must(db.Transaction(func(transaction *gorm.DB) error {
		for i := range orders {
			must(transaction.Create(&orders[i]).Error)
		}
		return nil
	}))
	same(ids.Stats().Issued, uint64(4), "4 keys made here")
	var found []Order
	must(db.Preload("Customer").Order("id").Find(&found).Error)
	same(found, orders, "rows with keys made here, and rows that refer to them")
	ids.Close()
	err = db.LogMode(false).Create(&Customer{Name: "Cy"}).Error
	var out *sno.OutOfIDsError
	ok(errors.As(err, &out) && out.Reason == sno.ReasonClosed, "no key: no row", err)
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
	madeHere(server, db)
	done()
}
