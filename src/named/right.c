/*
 * right.c
 *		The right to use a named generator that is restricted to the members of a role.
 *
 * A session remembers for which user it checked the right to use a generator (use.h).  It checks
 * the right again if there is another current user, for example in a SECURITY DEFINER function.
 * Any change of roles, of their members or of the database's owner counts as a change of the
 * definitions.  So sessions then look up the definitions and check the rights again.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "named/right.h"

/* The tables of definitions from which this session has used a restricted generator, as a list */
static SnoDefinitions *restricted;

static void
rights_changed(Datum arg, SysCacheIdentifier cache, uint32 hash)
{
	for (SnoDefinitions *in = restricted; in != NULL; in = in->next)
		in->table.version++;
}

/* Add a table of definitions to the list, so that changes of roles increment the table's version. */
static void
watch_rights(SnoDefinitions *in)
{
	if (in->restricted)
		return;
	if (restricted == NULL)
	{
		CacheRegisterSyscacheCallback(AUTHOID, rights_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, rights_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(DATABASEOID, rights_changed, (Datum) 0);
	}
	in->restricted = true;
	in->next = restricted;
	restricted = in;
}

/*
 * Raise an error unless the current user may use the generator.  If the generator is restricted to a
 * role that was dropped, only the database's owner and superusers may use the generator, even if
 * another role has the name of the dropped role now.
 */
void
sno_right_check(SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	Oid			role;
	bool		same;

	if (d->role[0] == '\0')
		return;
	watch_rights(in);
	role = get_role_oid(d->role, true);
	same = !OidIsValid(d->role_oid) || role == d->role_oid;
	if ((OidIsValid(role) && same && has_privs_of_role(GetUserId(), role)) ||
		has_privs_of_role(GetUserId(), ROLE_PG_DATABASE_OWNER))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for generator \"%s\"", name),
			 !OidIsValid(role) ?
			 errdetail("It is restricted to members of role \"%s\", which does not exist.", d->role) :
			 same ?
			 errdetail("Only members of role \"%s\" may use it.", d->role) :
			 errdetail("It is restricted to members of a role that was named \"%s\". Another role has that name now.", d->role),
			 errhint("The owner of the database can change that with %s.",
					 in->restrict_to)));
}
