// The example of clients/go/README.md for pgx 5.

package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"sno.example/go/pgxsno"
)

// README.md: import

func insert(ctx context.Context, ada sno.ID) (*pgxpool.Pool, sno.ID) {
	// README.md: pgx
	must(err)
	return pool, order
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
	done()
}
