# p1_pgsql, a driver that Erlang and Elixir share, and its example in clients/elixir/README.md

import Tap

unless Code.ensure_loaded?(:pgsql) do
  IO.puts("1..0 # SKIP no p1_pgsql")
  System.halt()
end

# The driver reads the names of types when it connects.
{_, 0} = System.cmd("psql", ["-qXc", "CREATE DOMAIN user_id AS sno CHECK (sno_meta(VALUE) = 1)"])

# It connects by TCP.  SCRAM needs stringprep.
{:ok, _} = Application.ensure_all_started(:stringprep)

{:ok, db} =
  :pgsql.connect(
    host: "127.0.0.1",
    port: String.to_integer(System.fetch_env!("PGPORT")),
    user: System.fetch_env!("PGUSER"),
    password: System.fetch_env!("PGPASSWORD"),
    database: System.fetch_env!("PGDATABASE"),
    as_binary: true
  )

# Rows of a prepared statement, whose values have their types, or the state of an error
execute = fn sql, parameters ->
  name = "s#{System.unique_integer([:positive])}"

  with {:ok, _, _, _} <- :pgsql.prepare(db, name, sql),
       {:ok, {_, rows}} <- :pgsql.execute(db, name, parameters) do
    rows
  else
    {:error, error} -> error[:code]
  end
end

# Rows of a simple query, whose values are texts
query = fn sql ->
  case :pgsql.squery(db, sql) do
    {:ok, [{_, _, rows}]} -> rows
    {:ok, [error: error]} -> error[:code]
    {:ok, _} -> []
  end
end

seen = readme("p1_pgsql", db: db)
ok(Sno.valid?(seen.ada), "README: RETURNING", seen)
same({seen.name, seen.names}, {"Ada", [["Ada"]]}, "README: parameter, and a search by time")
ada = seen.ada
bytes = Sno.to_bytes(ada)

same(query.("SELECT id FROM customers"), [[ada]], "a text in a simple query")
[[sno: bob]] = execute.("INSERT INTO customers (name) VALUES ('Bob') RETURNING id", [])

[[sno: order]] =
  execute.("INSERT INTO orders (customer_id, related) VALUES ($1, $2::text::sno[]) RETURNING id", [
    bytes,
    "{#{ada},NULL}"
  ])

same(
  execute.("SELECT related::text FROM orders WHERE id = $1", [order]),
  [[text: "{#{ada},NULL}"]],
  "an array with a null, as text"
)

join = "SELECT name FROM customers AS c JOIN orders AS o ON c.id = customer_id WHERE o.id = $1"
same(execute.(join, [order]), [[text: "Ada"]], "join")
any = "SELECT name FROM customers WHERE id = ANY ($1::text::sno[]) ORDER BY id"
same(execute.(any, ["{#{Sno.from_bytes(bob)},#{ada}}"]), [[text: "Ada"], [text: "Bob"]], "= ANY")
same(execute.(any, ["{}"]), [], "= ANY, empty")
same(execute.("SELECT $1::sno", [:null]), [[sno: :null]], "NULL")

# The ends and some ids between them
rows =
  execute.(
    "SELECT id, id::text FROM (SELECT sno_zero() UNION ALL SELECT sno_max('infinity')
  UNION ALL SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)",
    []
  )

same(length(rows), 258, "ids")

same(
  Enum.map(rows, fn [sno: bytes, text: text] -> {Sno.from_bytes(bytes), Sno.to_bytes(text)} end),
  Enum.map(rows, fn [sno: bytes, text: text] -> {text, bytes} end),
  "bytes and texts"
)

now = DateTime.utc_now()
bounds = [Sno.min(DateTime.add(now, -3600)), Sno.max(DateTime.add(now, 3600))]
between = "SELECT name FROM customers WHERE id BETWEEN $1 AND $2 ORDER BY id"
same(execute.(between, Enum.map(bounds, &Sno.to_bytes/1)), [[text: "Ada"], [text: "Bob"]], "bounds")

same(query.("SELECT 'not an id'::sno"), "22P02", "a wrong text: 22P02")
same(query.("SELECT '#{String.upcase(ada)}'::sno"), "22P02", "uppercase: 22P02")
same(execute.("SELECT $1::text::sno", ["not an id"]), "22P02", "a wrong text as a parameter: 22P02")
same(execute.("SELECT $1::sno", [ada]), "22P03", "a text in place of the 10 bytes: 22P03")
same(execute.("SELECT $1::user_id", [bytes]), [[sno: bytes]], "a domain")
same(execute.("SELECT $1::user_id", [order]), "23514", "its check")
:ok = :pgsql.terminate(db)
done()
