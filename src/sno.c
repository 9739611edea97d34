/*
 * sno.c
 *		The module: its magic and its settings.
 */
#include "postgres.h"

#include <limits.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "utils/guc_tables.h"
#include "utils/memutils.h"

#include "catalog/publish.h"
#include "compat.h"
#include "flake/nodes.h"
#include "generate/leasing.h"
#include "generate/session.h"
#include "generate/wait.h"
#include "shared/feed.h"
#include "shared/grant.h"
#include "shared/partition.h"
#include "shared/shmem.h"
#include "shared/turn.h"
#include "shared/worker.h"
#include "simd/codec.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static char *partitions_setting;
static int	codec_setting;
static struct config_enum_entry *codec_options;

/*
 * Settings that restrict the ids a server may issue, and the danger of their defaults
 *
 * Before this library is loaded, any user can set sno.partitions and sno.registry to any value
 * for a session, by connection options.  When the library defines these settings, PostgreSQL
 * replaces a value by the default if the value is invalid, or if the user may not set it.
 * PostgreSQL also uses the defaults if the library is loaded during a parallel operation, such
 * as the build of an index.  But a default is the least restrictive value, and it also replaces
 * the value in the configuration file.  So if the default has replaced a given value, the
 * session issues nothing until another value is assigned.
 *
 * A parallel worker also assigns its leader's value, which may be the default.  The worker
 * doesn't know whether a value was refused for the leader.  So a worker that was itself given
 * any value issues nothing under the default.
 */
typedef struct Guarded
{
	const char *name;
	char	   *given;			/* the given value, which the default may have replaced */
	bool		by_default;		/* is the default in force? */
} Guarded;

static Guarded partitions = {"sno.partitions"};
static Guarded registry = {"sno.registry"};

/* Would RESET restore a value of the setting other than the built-in default? */
static bool
has_lasting_value(const char *name)
{
	struct config_generic *option = find_option(name, false, true, 0);

	return option != NULL && option->reset_source > PGC_S_DEFAULT;
}

/* Remember the value that was given to a setting.  Call this before the setting is defined. */
static void
guard(Guarded *setting)
{
	if (has_lasting_value(setting->name))
		setting->given = MemoryContextStrdup(TopMemoryContext,
											 GetConfigOptionResetString(setting->name));
}

/* Forget the given value if PostgreSQL accepted it.  Call this after the setting is defined. */
static void
guarded(Guarded *setting)
{
	if (has_lasting_value(setting->name) && !IsParallelWorker())
		setting->given = NULL;
}

/* Return the given value if the default is in force in its place; otherwise NULL. */
static const char *
refused(const Guarded *setting)
{
	return setting->by_default ? setting->given : NULL;
}

/* The value that check_partitions() passes to assign_partitions() */
typedef struct PartitionsValue
{
	SnoPartitionRange range;
	bool		is_default;
} PartitionsValue;

/* Parse "first-last", or the number of a single partition. */
static bool
check_partitions(char **newval, void **extra, GucSource source)
{
	PartitionsValue *value;
	const char *s = *newval;
	char	   *end;
	unsigned long first,
				last;

	errno = 0;
	first = last = strtoul(s, &end, 10);
	if (isdigit((unsigned char) *s) && *end == '-' && isdigit((unsigned char) end[1]))
		last = strtoul(end + 1, &end, 10);
	if (!isdigit((unsigned char) *s) || *end != '\0' || errno != 0 ||
		first > last || last > SNO_PARTITION_MAX)
	{
		GUC_check_errdetail("It must be a range of partitions such as \"0-%d\", ascending, or a single one.",
							SNO_PARTITION_MAX);
		return false;
	}

	value = guc_malloc(LOG, sizeof(PartitionsValue));
	if (value == NULL)
		return false;
	*value = (PartitionsValue) {{(int) first, (int) last}, source == PGC_S_DEFAULT};
	*extra = value;
	return true;
}

static void
assign_partitions(const char *newval, void *extra)
{
	const PartitionsValue *value = extra;

	sno_partition_range = value->range;
	partitions.by_default = value->is_default;
	sno_partition_refused = refused(&partitions);

	/*
	 * Forget the partition and the nodes that the session uses, so that it issues no id outside
	 * of the new range, not even in the present unit.
	 */
	sno_session_place.p = NULL;
	sno_flake_definitions.table.version++;
}

/* Accept any value.  *extra is a flag for assign_registry(): is the value the default? */
static bool
check_registry(char **newval, void **extra, GucSource source)
{
	bool	   *is_default = guc_malloc(LOG, sizeof(bool));

	if (is_default == NULL)
		return false;
	*is_default = source == PGC_S_DEFAULT;
	*extra = is_default;
	return true;
}

static void
assign_registry(const char *newval, void *extra)
{
	registry.by_default = *(bool *) extra;
	sno_grant_setting_changed(refused(&registry) != NULL);
}

/*
 * List the valid values of sno.codec: "auto", and the codecs that this machine
 * supports.  The number of a value is its position in the list, which ends with an
 * entry without a name.
 */
static void
list_codecs(void)
{
	int			count = 0;

	codec_options = MemoryContextAllocZero(TopMemoryContext,
										   (sno_codec_count + 2) * sizeof(*codec_options));
	codec_options[count++].name = "auto";
	for (int i = 0; i < sno_codec_count; i++)
	{
		if (sno_codecs[i].supported())
		{
			codec_options[count].name = sno_codecs[i].name;
			codec_options[count].val = count;
			count++;
		}
	}
}

static void
assign_codec(int newval, void *extra)
{
	(void) sno_codec_choose(codec_options[newval].name);
}

static void
init(void)
{
	/* Hold off cancellation, because the session couldn't load a half-initialized library again. */
	HOLD_INTERRUPTS();

	sno_shmem_init();
	sno_turn_init();
	sno_feed_init();
	sno_leasing_init();
	list_codecs();
	/* Any user may set sno.codec, because it affects only speed. */
	DefineCustomEnumVariable("sno.codec",
							 "Selects the code that converts ids to text and back.",
							 "\"auto\" selects the fastest code that this machine supports. All give the same results.",
							 &codec_setting,
							 0,
							 codec_options,
							 PGC_USERSET,
							 0,
							 NULL,
							 assign_codec,
							 NULL);

	guard(&partitions);
	DefineCustomStringVariable("sno.partitions",
							   "Sets the range of partitions in which ids may be issued.",
							   "Servers that generate at the same time need ranges that do not overlap.",
							   &partitions_setting,
							   "0-65535",
							   PGC_SUSET,
							   0,
							   check_partitions,
							   assign_partitions,
							   NULL);
	guarded(&partitions);

	DefineCustomIntVariable("sno.lease_duration",
							"Sets how far ahead of the clock the right to issue ids is reserved.",
							"After a restart, partitions are not used before their leases are over.",
							&sno_lease_duration,
							60, 1, 86400,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);

	DefineCustomIntVariable("sno.max_wait",
							"Sets how long a session may wait for an id before it raises an error.",
							"It waits only when no partition can issue one.",
							&sno_max_wait,
							1000, 0, INT_MAX,
							PGC_USERSET,
							GUC_UNIT_MS,
							NULL, NULL, NULL);

	guard(&registry);
	DefineCustomStringVariable("sno.registry",
							   "Sets how to connect to the registry that grants partitions and nodes to this server.",
							   "A connection string of libpq. Without one, all of \"sno.partitions\" may be used.",
							   &sno_registry,
							   "",
							   PGC_SIGHUP,
							   GUC_SUPERUSER_ONLY,
							   check_registry,
							   assign_registry,
							   NULL);
	guarded(&registry);

	DefineCustomIntVariable("sno.grant_duration",
							"Sets how far ahead of the clock the registry is asked to grant partitions.",
							"Ids can be issued without the registry for about as long.",
							&sno_grant_duration,
							86400, 10, 30 * 86400,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);

	DefineCustomStringVariable("sno.server",
							   "Sets the name of this server in the registry.",
							   "It is only informative. If it is empty, \"cluster_name\" is used.",
							   &sno_server,
							   "",
							   PGC_SIGHUP,
							   0,
							   NULL, NULL, NULL);

	DefineCustomBoolVariable("sno.notify_overflow",
							 "Notifies listeners on channel \"sno_overflow\" when sessions have to wait for ids.",
							 "A background worker sends the notifications, and runs only while there are any.",
							 &sno_notify_overflow,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);

	MarkGUCPrefixReserved("sno");

	/*
	 * If this is a parallel operation, PostgreSQL ignored the given values.  Let it read the
	 * configuration files again at the next command.
	 */
	if (IsInParallelMode())
		ConfigReloadPending = true;

	RESUME_INTERRUPTS();
}

/*
 * Initialize the library.  No setting can be defined twice, so after an error in init(), the
 * session could never load the library.  Therefore such an error ends the session.
 */
void
_PG_init(void)
{
	PG_TRY();
	{
		init();
	}
	PG_CATCH();
	{
		int			code = geterrcode();

		EmitErrorReport();
		ereport(FATAL,
				(errcode(code),
				 errmsg("could not load library \"%s\"", "sno")));
	}
	PG_END_TRY();
	/* If sno.registry is set when the server starts, reserve a process for the registry client. */
	if (process_shared_preload_libraries_in_progress && sno_is_registered())
		sno_worker_reserve(SNO_REGISTRY_CLIENT);
}
