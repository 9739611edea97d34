/*
 * loan_test.c
 *		The cases of test/vectors/loans.tsv, by the generator core: what programs do with a
 *		loan is what a session does with a lease.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/generator.h"
#include "simd/codec.h"
#include "id.h"
#include "tap.h"

#define VECTORS		"test/vectors/loans.tsv"

/* What a call at a unit of the clock returns. */
static const char *
call(SnoGenerator *g, uint64_t now, unsigned meta, unsigned partition, char *text)
{
	uint64_t	word;
	Sno			id;

	switch (sno_generator_step(g, now, &word))
	{
		case SNO_ISSUED:
			sno_assemble(&id, SNO_WORD_TIME(word), (uint8_t) meta, (uint16_t) partition,
						 (uint16_t) SNO_WORD_SEQUENCE(word));
			sno_encode(&id, text);
			return text;
		case SNO_EXHAUSTED:
			return "wait";
		case SNO_BEHIND:
			return "behind";
		case SNO_LEASE_OVER:
			return "over";
		default:
			return "none of these";
	}
}

int
main(void)
{
	FILE	   *file = fopen(VECTORS, "r");
	char		line[200];
	char		name[100] = "no case";
	unsigned	partition = 0;
	SnoGenerator g = {0};
	bool		right = false;

	if (file == NULL)
	{
		perror(VECTORS);
		return 1;
	}
	while (fgets(line, sizeof(line), file) != NULL)
	{
		char		next[sizeof(name)];
		char		wanted[20];
		char		text[SNO_TEXT_SIZE + 1] = "";
		unsigned	meta,
					times,
					first,
					last;
		uint64_t	unit,
					until;

		if (sscanf(line, "loan\t%99[^\t]\t%u\t%" SCNu64 "\t%u\t%u\t%" SCNu64,
				   next, &partition, &unit, &first, &last, &until) == 6)
		{
			if (right)
				report(true, name);
			strcpy(name, next);
			right = true;
			sno_generator_start(&g, unit, first, last);
			g.ceiling = until;
		}
		else if (sscanf(line, "read\t%" SCNu64 "\t%u\t%u\t%19s", &unit, &meta, &times, wanted) == 4)
		{
			const char *seen = "";

			for (unsigned i = 0; i < times; i++)
			{
				seen = call(&g, unit, meta, partition, text);
				right = right && (i == times - 1 || seen == text);
			}
			if (right && strcmp(seen, wanted) == 0)
				continue;
			report(false, name);
			printf("# %s# seen: %s\n", line, seen);
			right = false;
		}
		else if (line[0] != '#' && line[0] != '\n')
		{
			report(false, line);
			right = false;
		}
	}
	fclose(file);
	report(right, name);
	return plan();
}
