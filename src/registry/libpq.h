/*
 * libpq.h
 *		The connection to the registry.
 *
 * The code of the connection is a separate library, which is linked to libpq.  Only the registry
 * client loads this library.
 */
#ifndef SNO_REGISTRY_LIBPQ_H
#define SNO_REGISTRY_LIBPQ_H

#include "postgres.h"

/* The names of the library and of its entry point */
#define SNO_LIBPQ_LIBRARY	"sno_libpq"
#define SNO_LIBPQ_FUNCTION	"sno_libpq_functions"

/* The maximum number of parameters of a statement */
#define SNO_LIBPQ_PARAMETERS	8

typedef struct SnoConnection SnoConnection;

/* The rows that a statement returned.  The values are short texts of printable ASCII. */
typedef struct SnoRows
{
	int			count;
	int			columns;
	char	  **value;			/* all values, row by row; NULL stands for a null */
} SnoRows;

/*
 * The functions of the library.  There is only one connection at a time.  If a function fails or
 * takes too long, it ends the connection and raises an error.
 */
typedef struct SnoLibpq
{
	/* While the functions wait for the registry, they call `meanwhile` now and then. */
	SnoConnection *(*begin) (const char *conninfo, const char *name,
							 void (*meanwhile) (void));
	SnoRows		(*query) (SnoConnection *c, const char *statement, int count,
						  const char *const *parameter);
	/* End the connection, if there is one, or an attempt to connect that an error interrupted. */
	void		(*end) (void);
} SnoLibpq;

typedef const SnoLibpq *(*SnoLibpqFunctions) (void);

#endif							/* SNO_REGISTRY_LIBPQ_H */
