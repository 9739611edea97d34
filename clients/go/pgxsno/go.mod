module sno.example/go/pgxsno

go 1.25.0

require (
	github.com/jackc/pgx/v5 v5.9.2
	sno.example/go v1.0.0
)

replace sno.example/go => ../
