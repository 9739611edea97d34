/*
 * reply.c
 *		Parses and checks the answers of the registry.
 *
 * An answer isn't trusted, because any server may have sent it.  Invalid values raise an error.
 */
#include "postgres.h"

#include "registry/reply.h"

/* The columns of an answer, in the order of SNO_REPLY_COLUMNS */
enum
{
	STATUS, RANGE_FIRST, RANGE_LAST, NOW, FIRST, LAST, FLOOR, CEILING,
	COLUMNS
};

pg_noreturn static void
bad_answer(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid answer from the registry: %s", what)));
}

/* Return a number in an answer.  Raises an error unless the number is from 0 to `max`. */
static int64
number_in(const SnoRows *rows, int row, int column, int64 max)
{
	const char *text = rows->value[row * rows->columns + column];
	char	   *end;
	int64		number;

	if (text == NULL)
		bad_answer("a number is null");
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || number < 0 || number > max)
		bad_answer(text);
	return number;
}

static SnoAnswer
answer_in(const SnoRows *rows)
{
	static const char *const names[] = {"granted", "full", "forgotten", "superseded", "range"};
	const char *status = rows->value[STATUS];

	for (int i = 0; status != NULL && i < (int) lengthof(names); i++)
		if (strcmp(status, names[i]) == 0)
			return i;
	bad_answer(status == NULL ? "status is null" : status);
}

/* Return the granted blocks.  `last` is the last partition, or the last node of the layout. */
static SnoGrants
blocks_in(const SnoRows *rows, int64 last)
{
	SnoGrants	blocks = {0};

	for (int i = 0; i < rows->count; i++)
	{
		if (rows->value[i * rows->columns + FIRST] == NULL)
			continue;
		if (blocks.count == SNO_GRANTS)
			bad_answer("too many blocks");
		blocks.grant[blocks.count++] = (SnoGrant) {
			.first = number_in(rows, i, FIRST, last),
			.last = number_in(rows, i, LAST, last),
			.floor = number_in(rows, i, FLOOR, SNO_UNIT_MAX),
			.ceiling = number_in(rows, i, CEILING, SNO_UNIT_MAX)
		};
	}
	if (!sno_grants_are_valid(&blocks, last))
		bad_answer("blocks overlap");
	return blocks;
}

/*
 * Return the range from which the registry grants.  The range is empty if the registry doesn't
 * know the layout.
 */
static SnoNodeRange
node_range_in(const SnoRows *rows, int64 last)
{
	if (rows->value[RANGE_FIRST] == NULL)
		return (SnoNodeRange) {.known = true,.last = -1};
	return (SnoNodeRange) {
		.known = true,
		.first = number_in(rows, 0, RANGE_FIRST, last),
		.last = number_in(rows, 0, RANGE_LAST, last)
	};
}

/* Parse an answer about nodes of the layout, or about partitions if the layout is all zeros. */
SnoReply
sno_reply_read(const SnoRows *rows, const SnoLayout *layout)
{
	int64		last = sno_granted_last(layout);
	SnoReply	reply;

	if (rows->count == 0 || rows->columns != COLUMNS)
		bad_answer("unexpected number of rows or columns");
	reply = (SnoReply) {
		.answer = answer_in(rows),
		.range = node_range_in(rows, last),
		.now = number_in(rows, 0, NOW, SNO_UNIT_MAX),
		.blocks = blocks_in(rows, last)
	};
	/* A registry always has a range of partitions. */
	if (sno_layout_is_none(layout) && (reply.answer == SNO_ANSWER_RANGE || reply.range.last < 0))
		bad_answer("range");
	return reply;
}
