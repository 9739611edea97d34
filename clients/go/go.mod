module sno.example/clients/go

go 1.19
