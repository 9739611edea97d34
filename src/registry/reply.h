/*
 * reply.h
 *		Parses and checks the answers of the registry.
 */
#ifndef SNO_REGISTRY_REPLY_H
#define SNO_REGISTRY_REPLY_H

#include "postgres.h"

#include "registry/libpq.h"
#include "shared/grant.h"

/* The columns of an answer, in their order */
#define SNO_REPLY_COLUMNS	"status, range_first, range_last, now, first, last, floor, ceiling"

typedef struct SnoReply
{
	SnoAnswer	answer;
	SnoNodeRange range;			/* the partitions or nodes that the registry grants */
	int64		now;			/* the unit of the registry's clock */
	SnoGrants	blocks;			/* the blocks that are granted to this database */
} SnoReply;

extern SnoReply sno_reply_read(const SnoRows *rows, const SnoLayout *layout);

#endif							/* SNO_REGISTRY_REPLY_H */
