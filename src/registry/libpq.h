/*
 * libpq.h
 *		The connection to the registry.
 *
 * libpq is linked to a separate library, which only the registry client loads.
 */
#ifndef SNO_REGISTRY_LIBPQ_H
#define SNO_REGISTRY_LIBPQ_H

#include "postgres.h"

/* The library, and its entry point */
#define SNO_LIBPQ_LIBRARY	"sno_libpq"
#define SNO_LIBPQ_FUNCTION	"sno_libpq_functions"

/* The maximum number of parameters of a statement */
#define SNO_LIBPQ_PARAMETERS	8

typedef struct SnoConnection SnoConnection;

/* The rows that a statement returned, as short texts of printable ASCII. */
typedef struct SnoRows
{
	int			count;
	int			columns;
	char	  **value;			/* by row and column; NULL if it is null */
} SnoRows;

/*
 * There is one connection at a time.  If something fails or takes too long, all of these end
 * the connection and raise an error.
 */
typedef struct SnoLibpq
{
	/* During waits, `meanwhile` is called now and then. */
	SnoConnection *(*connect) (const char *conninfo, const char *name,
							   void (*meanwhile) (void));
	SnoRows		(*query) (SnoConnection *c, const char *statement, int count,
						  const char *const *parameter);
	void		(*close) (SnoConnection *c);
} SnoLibpq;

typedef const SnoLibpq *(*SnoLibpqFunctions) (void);

#endif							/* SNO_REGISTRY_LIBPQ_H */
