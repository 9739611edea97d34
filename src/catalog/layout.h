/*
 * layout.h
 *		The layouts of ids of other systems: the table sno_layout.
 */
#ifndef SNO_LAYOUT_H
#define SNO_LAYOUT_H

#include "postgres.h"

#include "catalog/table.h"
#include "core/flake.h"

#define SNO_LAYOUT_TABLE	"sno_layout"

/* A layout has the number of a partition, after those of ids of our own. */
#define SNO_LAYOUT_PARTITION(id)	(SNO_PARTITION_MAX + (id))
#define SNO_LAYOUT_ID_MAX			PG_INT16_MAX

/* The type of the ids of a layout. */
typedef enum SnoFlakeType
{
	SNO_FLAKE_BIGINT,			/* up to 64 bits */
	SNO_FLAKE_UUID,				/* 128 bits */
	SNO_FLAKE_BYTEA				/* any other size */
} SnoFlakeType;

typedef struct SnoNamedLayout
{
	int16		id;
	SnoFlakeType type;
	SnoLayout	layout;
	bool		is_new;			/* added by this transaction */
	char	   *digits;			/* of the text form; NULL: as the type writes it */
	char		name[NAMEDATALEN];
} SnoNamedLayout;

/* Has the layout this name? */
static inline bool
sno_layout_is_named(const SnoNamedLayout *layout, const text *name)
{
	size_t		length = VARSIZE_ANY_EXHDR(name);

	return strlen(layout->name) == length && memcmp(layout->name, VARDATA_ANY(name), length) == 0;
}

/* The table. */
extern SnoTable sno_layouts;

extern bool sno_layout_is_present(int id, const SnoLayout *layout);
extern const SnoNamedLayout *sno_layout_by_name(const text *name);
extern const SnoNamedLayout *sno_layout_by_id(int id);
extern const SnoNamedLayout *sno_layout_look(int id);

#endif							/* SNO_LAYOUT_H */
