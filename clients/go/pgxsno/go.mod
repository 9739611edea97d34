module sno.example/clients/go/pgxsno

go 1.25.0

require (
	github.com/jackc/pgx/v5 v5.9.2
	sno.example/clients/go v0.9.0
)

replace sno.example/clients/go => ../
