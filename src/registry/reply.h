/*
 * reply.h
 *		Answers of the registry, parsed and checked.
 */
#ifndef SNO_REGISTRY_REPLY_H
#define SNO_REGISTRY_REPLY_H

#include "postgres.h"

#include "registry/libpq.h"
#include "shared/grant.h"

/* The columns of a reply, in their order. */
#define SNO_REPLY_COLUMNS	"status, range_first, range_last, now, first, last, floor, ceiling"

typedef struct SnoReply
{
	SnoAnswer	answer;
	SnoNodeRange range;			/* from which the registry grants */
	int64		now;			/* unit of the registry's clock */
	SnoGrants	blocks;			/* granted to this database */
} SnoReply;

extern SnoReply sno_reply_read(const SnoRows *rows, const SnoLayout *layout);

#endif							/* SNO_REGISTRY_REPLY_H */
