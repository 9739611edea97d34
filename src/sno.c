/*
 * sno.c
 *		The module: its magic and its settings.
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "fmgr.h"
#include "postmaster/interrupt.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "compat.h"
#include "generate/session.h"
#include "generate/wait.h"
#include "lease/lease.h"
#include "shared/feed.h"
#include "shared/grant.h"
#include "shared/partition.h"
#include "shared/worker.h"
#include "simd/codec.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static char *partitions_setting;
static int	codec_setting;
static struct config_enum_entry *codec_options;

/* "first-last", or the number of a single partition. */
static bool
check_partitions(char **newval, void **extra, GucSource source)
{
	SnoPartitionRange *range;
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

	range = guc_malloc(LOG, sizeof(SnoPartitionRange));
	if (range == NULL)
		return false;
	range->first = (int) first;
	range->last = (int) last;
	*extra = range;
	return true;
}

/* How often the setting of the partitions was assigned while this library is loaded. */
static int	partitions_assigned;

static void
assign_partitions(const char *newval, void *extra)
{
	partitions_assigned++;
	sno_partition_range = *(SnoPartitionRange *) extra;
	sno_partition_refused = NULL;
}

/*
 * Define the setting.  If it has an invalid value before this library is loaded, or one
 * that the user may not set, PostgreSQL only warns, and takes the default.  But that is
 * all partitions, which may be another server's.
 */
static void
define_partitions(void)
{
	const char *given = GetConfigOption("sno.partitions", true, false);

	if (given != NULL)
		given = MemoryContextStrdup(TopMemoryContext, given);
	partitions_assigned = 0;
	DefineCustomStringVariable("sno.partitions",
							   "Sets the range of partitions in which ids may be issued.",
							   "Servers that generate at the same time need ranges that don't overlap.",
							   &partitions_setting,
							   "0-65535",
							   PGC_SUSET,
							   0,
							   check_partitions,
							   assign_partitions,
							   NULL);
	/* The default is assigned first, and then what was given. */
	if (given != NULL && (partitions_assigned == 1 || strcmp(given, partitions_setting) != 0))
		sno_partition_refused = given;
}

/* How often the setting of the registry was assigned while this library is loaded. */
static int	registry_assigned;

static void
assign_registry(const char *newval, void *extra)
{
	registry_assigned++;
	sno_grant_setting_changed();
}

/*
 * Define the setting.  Before this library is loaded, everybody may set it for a
 * session, by the options of the connection.  PostgreSQL then refuses that value, and
 * takes the default instead of the one of the configuration file.  It also does if the
 * library is loaded within a parallel operation, the build of an index for example.
 */
static void
define_registry(void)
{
	bool		given = GetConfigOption("sno.registry", true, false) != NULL;

	registry_assigned = 0;
	DefineCustomStringVariable("sno.registry",
							   "Sets how to connect to the registry that grants partitions to this server.",
							   "A connection string of libpq. Without one, all of \"sno.partitions\" may be used.",
							   &sno_registry,
							   "",
							   PGC_SIGHUP,
							   GUC_SUPERUSER_ONLY,
							   NULL,
							   assign_registry,
							   NULL);
	sno_registry_refused = given && registry_assigned == 1;
}

/*
 * List "auto" and the codecs that this machine supports, to which PostgreSQL
 * then holds the setting.  Values are places in the list, which ends with an
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

void
_PG_init(void)
{
	sno_feed_init();
	list_codecs();
	/* Anybody may set it: nothing but speed depends on it. */
	DefineCustomEnumVariable("sno.codec",
							 "Selects the code that converts ids to text and back.",
							 "\"auto\" is the fastest that this machine can run; all give the same results.",
							 &codec_setting,
							 0,
							 codec_options,
							 PGC_USERSET,
							 0,
							 NULL,
							 assign_codec,
							 NULL);

	define_partitions();

	DefineCustomIntVariable("sno.lease_duration",
							"Sets how far ahead of the clock a session reserves the right to issue ids.",
							"A server that restarts leaves partitions alone whose leases aren't over.",
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

	define_registry();

	DefineCustomIntVariable("sno.grant_duration",
							"Sets how far ahead of the clock the registry is asked to grant partitions.",
							"The registry may be away for about as long.",
							&sno_grant_duration,
							86400, 10, 30 * 86400,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);

	DefineCustomStringVariable("sno.node",
							   "Sets the name of this server in the registry.",
							   "It is for people only. If it is empty, \"cluster_name\" is used.",
							   &sno_node,
							   "",
							   PGC_SIGHUP,
							   0,
							   NULL, NULL, NULL);

	DefineCustomBoolVariable("sno.notify_overflow",
							 "Notifies listeners on channel \"sno_overflow\" when sessions have to wait for ids.",
							 "A background worker does, while there is something to notify of.",
							 &sno_notify_overflow,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);

	MarkGUCPrefixReserved("sno");

	/* PostgreSQL took no value that was given.  It reads them again at the next command. */
	if (IsInParallelMode())
		ConfigReloadPending = true;
}
