module sno.example/go

go 1.19
