// The example of clients/go/README.md for pgx 5.

package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"sno.example/clients/go/pgxsno"
)

// README.md: import

func insert(ctx context.Context, ada sno.ID) (*pgxpool.Pool, sno.ID) {
	// README.md: pgx
	must(err)
	return pool, order
}

func keys(ctx context.Context, pool *pgxpool.Pool) {
	// README.md: pgx keys
	must(err)
	var name string
	must(pool.QueryRow(ctx, "SELECT name FROM customers AS c JOIN orders AS o ON c.id = customer_id WHERE (o.id, c.id) = ($1, $2)",
		first, cy).Scan(&name))
	same(name, "Cy", "pgx 5: rows with keys made here")
}

func main() {
	ctx := context.Background()
	var ada sno.ID
	plain, err := pgxpool.New(ctx, "")
	must(err)
	must(plain.QueryRow(ctx, "INSERT INTO customers (name) VALUES ('Ada') RETURNING id").Scan(&ada))
	pool, order := insert(ctx, ada)
	var related []sno.ID
	must(pool.QueryRow(ctx, "SELECT related FROM orders WHERE id = $1", order).Scan(&related))
	same(related, []sno.ID{ada}, "pgx 5")
	keys(ctx, pool)
	done()
}
