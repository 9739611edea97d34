/*
 * nodes.h
 *		The definitions of generators of flakes: the table sno_flake_generator.
 */
#ifndef SNO_NODES_H
#define SNO_NODES_H

#include "postgres.h"

#include "catalog/definition.h"

/* The table. */
extern SnoDefinitions sno_flake_definitions;

extern char *sno_flake_using_key(const char *key);

#endif							/* SNO_NODES_H */
