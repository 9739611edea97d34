/*
 * layout.h
 *		The layouts of flakes: the table sno_flake_layout.
 */
#ifndef SNO_LAYOUT_H
#define SNO_LAYOUT_H

#include "postgres.h"

#include "catalog/table.h"
#include "core/flake.h"

#define SNO_LAYOUT_TABLE	"sno_flake_layout"

/* The SQL type of the ids of a layout */
typedef enum SnoFlakeType
{
	SNO_FLAKE_BIGINT,			/* up to 64 bits */
	SNO_FLAKE_UUID,				/* 128 bits */
	SNO_FLAKE_BYTEA				/* any other size */
} SnoFlakeType;

typedef struct SnoNamedLayout
{
	SnoFlakeType type;
	SnoLayout	layout;
	char	   *digits;			/* of the text form; NULL if ids have their type's text form (flake/text.c) */
	char		name[NAMEDATALEN];
} SnoNamedLayout;

static inline SnoFlakeType
sno_layout_type(const SnoLayout *layout)
{
	unsigned	bits = sno_layout_bits(layout);

	return bits <= 64 ? SNO_FLAKE_BIGINT : bits == 128 ? SNO_FLAKE_UUID : SNO_FLAKE_BYTEA;
}

/* Does the layout have this name? */
static inline bool
sno_layout_is_named(const SnoNamedLayout *layout, const text *name)
{
	size_t		length = VARSIZE_ANY_EXHDR(name);

	return strlen(layout->name) == length && memcmp(layout->name, VARDATA_ANY(name), length) == 0;
}

/* The table sno_flake_layout */
extern SnoTable sno_layouts;

extern bool sno_layout_look(void);
extern const SnoNamedLayout *sno_layout_known(const char *name);
extern const SnoNamedLayout *sno_layout_by_name(const text *name);
extern const char *sno_layout_look_name(const SnoLayout *layout);

#endif							/* SNO_LAYOUT_H */
