/*
 * libpq.h
 *		The connection to the registry.
 *
 * libpq is linked to a library of its own, which the registry client alone loads.
 */
#ifndef SNO_REGISTRY_LIBPQ_H
#define SNO_REGISTRY_LIBPQ_H

#include "postgres.h"

/* The library, and the function in it. */
#define SNO_LIBPQ_LIBRARY	"sno_libpq"
#define SNO_LIBPQ_FUNCTION	"sno_libpq_functions"

/* The most parameters that a statement has. */
#define SNO_LIBPQ_PARAMETERS	8

typedef struct SnoConnection SnoConnection;

/* The rows that a statement returned, as text that is short and printable ASCII. */
typedef struct SnoRows
{
	int			count;
	int			columns;
	char	  **value;			/* by row and column; NULL if it is null */
} SnoRows;

/*
 * There is one connection at a time.  All raise an error if something goes wrong or takes
 * too long, and end the connection then.
 */
typedef struct SnoLibpq
{
	/* While anything is waited for, `meanwhile` is called now and then. */
	SnoConnection *(*connect) (const char *conninfo, const char *name,
							   void (*meanwhile) (void));
	SnoRows		(*query) (SnoConnection *c, const char *statement, int count,
						  const char *const *parameter);
	void		(*close) (SnoConnection *c);
} SnoLibpq;

typedef const SnoLibpq *(*SnoLibpqFunctions) (void);

#endif							/* SNO_REGISTRY_LIBPQ_H */
