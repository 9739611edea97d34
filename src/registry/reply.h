/*
 * reply.h
 *		What the registry answers, read and checked.
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
	SnoNodeRange range;			/* what the registry may grant to anybody */
	int64		now;			/* unit of the registry's clock */
	SnoGrants	blocks;			/* that it granted */
} SnoReply;

extern SnoReply sno_reply_read(const SnoRows *rows, const SnoLayout *layout);

#endif							/* SNO_REGISTRY_REPLY_H */
