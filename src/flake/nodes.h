/*
 * nodes.h
 *		The definitions of generators of flakes: the table sno_flake_generator.
 */
#ifndef SNO_NODES_H
#define SNO_NODES_H

#include "postgres.h"

#include "catalog/definition.h"
#include "catalog/layout.h"
#include "catalog/cipher.h"

/* The table sno_flake_generator */
extern SnoDefinitions sno_flake_definitions;

extern SnoNamedLayout sno_nodes_layout(const SnoDefinition *d);
extern PGDLLEXPORT char *sno_nodes_using_key(const char *key);
extern const SnoCiphers *sno_nodes_ciphers(const char *key);

#endif							/* SNO_NODES_H */
