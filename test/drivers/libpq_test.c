/*
 * libpq_test.c
 *		libpq: text and binary, side by side.  Prints TAP.
 */
#include <stdbool.h>
#include <stdio.h>

#include "recipe.h"

#define IDS	258

static PGconn *conn;
static int	tests = 0;
static int	failures = 0;

static void
ok(bool passed, const char *name)
{
	tests++;
	failures += !passed;
	printf("%sok %d - %s\n", passed ? "" : "not ", tests, name);
	if (!passed)
		printf("# %s\n", PQerrorMessage(conn));
}

/* A query with a parameter of that type and format, and results in a format. */
static PGresult *
query(const char *text, Oid type, const char *value, int length, int format, int wanted)
{
	return PQexecParams(conn, text, 1, &type, &value, &length, &format, wanted);
}

static PGresult *
query_text(const char *text, const char *value)
{
	return query(text, InvalidOid, value, 0, 0, 0);
}

/* Is the first field of the first of so many rows this text? */
static bool
is(PGresult *res, int rows, const char *wanted)
{
	bool		same = PQntuples(res) == rows &&
		(rows == 0 || strcmp(PQgetvalue(res, 0, 0), wanted) == 0);

	PQclear(res);
	return same;
}

static bool
has_state(PGresult *res, const char *state)
{
	const char *seen = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	bool		same = seen != NULL && strcmp(seen, state) == 0;

	PQclear(res);
	return same;
}

static Sno
get_id(PGresult *res, int row, int column)
{
	Sno			id;

	memcpy(&id, PQgetvalue(res, row, column), sizeof(id));
	return id;
}

/* Does the answer of COPY hold an id in that form, and come back by COPY? */
static void
test_copy(const char *options, const char *form, size_t length)
{
	char		command[100];
	char		name[100];
	char		rows[10000];
	char	   *row;
	int			size;
	size_t		used = 0;
	PGresult   *res;

	snprintf(command, sizeof(command), "COPY person TO STDOUT %s", options);
	PQclear(PQexec(conn, command));
	while ((size = PQgetCopyData(conn, &row, 0)) > 0)
	{
		if (used + size <= sizeof(rows))
			memcpy(rows + used, row, size);
		used += size;
		PQfreemem(row);
	}
	PQclear(PQgetResult(conn));
	snprintf(name, sizeof(name), "ids in COPY %s", options);
	ok(used <= sizeof(rows) && memmem(rows, used, form, length) != NULL, name);

	PQclear(PQexec(conn, "CREATE TABLE kept AS TABLE person; TRUNCATE person"));
	snprintf(command, sizeof(command), "COPY person FROM STDIN %s", options);
	PQclear(PQexec(conn, command));
	PQputCopyData(conn, rows, used);
	PQputCopyEnd(conn, NULL);
	res = PQgetResult(conn);
	snprintf(name, sizeof(name), "COPY %s", options);
	ok(PQresultStatus(res) == PGRES_COMMAND_OK &&
	   is(PQexec(conn, "TABLE person EXCEPT TABLE kept"), 0, "") &&
	   is(PQexec(conn, "TABLE kept EXCEPT TABLE person"), 0, ""), name);
	PQclear(res);
	PQclear(PQgetResult(conn));
	PQclear(PQexec(conn, "DROP TABLE kept"));
}

int
main(void)
{
	Oid			sno;
	Oid			sno_array;
	PGresult   *res;
	PGresult   *bytes;
	char		ada_text[17] = "";
	Sno			ada;
	Sno			bob;
	Sno			ids[IDS];
	Sno			back[IDS];
	char		array[20 + 14 * IDS];
	char		literal[100];
	int			size;
	bool		same = true;

	conn = PQconnectdb("");
	if (PQstatus(conn) != CONNECTION_OK)
	{
		printf("Bail out!  %s", PQerrorMessage(conn));
		return 1;
	}
	sno = type_oid(conn, "sno");
	sno_array = type_oid(conn, "sno[]");
	ok(sno != InvalidOid && sno_array != InvalidOid, "numbers of the types");
	ok(type_oid(conn, "no_type") == InvalidOid, "no number for no type");

	/* text */
	res = query_text("INSERT INTO person (name) VALUES ($1) RETURNING id", "Ada");
	ok(PQntuples(res) == 1 && PQftype(res, 0) == sno && PQfsize(res, 0) == 10,
	   "RETURNING, text");
	snprintf(ada_text, sizeof(ada_text), "%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	ok(is(query_text("SELECT name FROM person WHERE id = $1", ada_text), 1, "Ada"),
	   "parameter, untyped, text");
	ok(is(query("SELECT name FROM person WHERE id = $1", sno, ada_text, 0, 0, 0), 1, "Ada"),
	   "parameter, typed, text");
	ok(has_state(query_text("SELECT name FROM person WHERE id = $1", "not an id"), "22P02"),
	   "bad id: 22P02");
	snprintf(literal, sizeof(literal), "{%s,NULL}", ada_text);
	ok(is(query_text("SELECT name FROM person WHERE id = ANY ($1)", literal), 1, "Ada"),
	   "array parameter, text");
	ok(is(query_text("UPDATE person SET friends = $1 RETURNING friends", literal), 1, literal),
	   "array result, text");

	/* the example, of binary ids */
	res = example(conn);
	ids[0] = get_id(res, 1, 0);
	ok(PQntuples(res) == 3 && PQgetisnull(res, 1, 1) &&
	   get_array(PQgetvalue(res, 2, 1), ids + 1) == 1 &&
	   memcmp(&ids[0], &ids[1], sizeof(Sno)) == 0, "example");
	PQclear(res);
	PQclear(query_text("DELETE FROM person WHERE id > $1", ada_text));

	/* binary: both forms of the ends and of some ids between */
	res = query("SELECT id FROM person WHERE id = $1", InvalidOid, ada_text, 0, 0, 1);
	ok(PQgetlength(res, 0, 0) == sizeof(Sno), "result, binary: 10 bytes");
	ada = get_id(res, 0, 0);
	PQclear(res);
	PQclear(PQexec(conn,
				   "CREATE TABLE ids AS SELECT row_number() OVER () AS n, id FROM ("
				   " VALUES (sno_zero()), (sno_max('infinity')) UNION ALL"
				   " SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)"));
	res = PQexec(conn, "SELECT id FROM ids ORDER BY n");
	bytes = PQexecParams(conn, "SELECT id FROM ids ORDER BY n", 0, NULL, NULL, NULL, NULL, 1);
	ok(PQntuples(res) == IDS && PQntuples(bytes) == IDS, "results, text and binary");
	for (int i = 0; i < PQntuples(bytes); i++)
	{
		ids[i] = get_id(bytes, i, 0);
		same &= is(query("SELECT $1::sno", sno, (char *) &ids[i], sizeof(Sno), 1, 0), 1,
				   PQgetvalue(res, i, 0));
	}
	ok(same, "parameters, typed, binary");
	PQclear(res);
	PQclear(bytes);
	ok(is(query("SELECT name FROM person WHERE id = $1", InvalidOid,
				(char *) &ada, sizeof(Sno), 1, 0), 1, "Ada"),
	   "parameter, untyped, binary");
	ok(has_state(query("SELECT $1", sno, "short", 5, 1, 0), "22P03"), "bad bytes: 22P03");

	size = put_array(array, sno, ids, IDS);
	ok(is(query("SELECT array_agg(id ORDER BY n) = $1 FROM ids", sno_array, array, size, 1, 0), 1,
		  "t"), "array parameter, binary");
	res = query("SELECT $1", sno_array, array, size, 1, 1);
	ok(PQgetlength(res, 0, 0) == size && memcmp(PQgetvalue(res, 0, 0), array, size) == 0 &&
	   get_array(PQgetvalue(res, 0, 0), back) == IDS && memcmp(back, ids, sizeof(ids)) == 0,
	   "array result, binary");
	PQclear(res);
	res = query("SELECT $1::sno[]", InvalidOid, "{}", 0, 0, 1);
	ok(get_array(PQgetvalue(res, 0, 0), back) == 0, "array result, binary, empty");
	PQclear(res);

	size = put_array(array, sno, &ada, 1);
	res = query("INSERT INTO person (name, friends) VALUES ('Bob', $1) RETURNING id",
				InvalidOid, array, size, 1, 1);
	bob = get_id(res, 0, 0);
	ok(memcmp(&bob, &ada, sizeof(Sno)) > 0, "RETURNING, binary");
	PQclear(res);

	/* NULL, by either format */
	for (int format = 0; format <= 1; format++)
	{
		res = query("SELECT $1::sno", sno, NULL, 0, format, format);
		ok(PQgetisnull(res, 0, 0), format ? "NULL, binary" : "NULL, text");
		PQclear(res);
	}

	/* times */
	ok(is(query_text("SELECT name FROM person WHERE id <@ $1::tstzrange ORDER BY id",
					 "[2026-01-01,)"), 2, "Ada"), "id <@ tstzrange");
	ok(is(query_text("SELECT name FROM person WHERE id <@ tstzrange(NULL, $1)", "2026-01-01"),
		  0, ""), "id <@ tstzrange, before");
	ok(has_state(query_text("SELECT name FROM person WHERE id <@ $1", "[2026-01-01,)"), "42804"),
	   "a range needs its type");

	/* a prepared statement, whose parameter becomes a sno */
	PQclear(PQprepare(conn, "name_of", "SELECT name FROM person WHERE id = $1", 1, NULL));
	res = PQdescribePrepared(conn, "name_of");
	ok(PQparamtype(res, 0) == sno, "prepared statement: type of the parameter");
	PQclear(res);
	for (int format = 0; format <= 1; format++)
	{
		const char *value = format ? (char *) &bob : ada_text;
		int			length = sizeof(Sno);

		ok(is(PQexecPrepared(conn, "name_of", 1, &value, &length, &format, 0), 1,
			  format ? "Bob" : "Ada"),
		   format ? "prepared statement, binary" : "prepared statement, text");
	}

	test_copy("", ada_text, 16);
	test_copy("(FORMAT csv)", ada_text, 16);
	test_copy("(FORMAT binary)", (char *) &ada, sizeof(Sno));
	PQclear(PQexec(conn, "COPY person (id) FROM STDIN"));
	PQputCopyData(conn, "not an id\n", 10);
	PQputCopyEnd(conn, NULL);
	ok(has_state(PQgetResult(conn), "22P02"), "bad id in COPY: 22P02");

	PQfinish(conn);
	printf("1..%d\n", tests);
	return failures > 0;
}
