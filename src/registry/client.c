/*
 * client.c
 *		The registry client: the background worker that sends requests to the registry.
 *
 * A session that needs grants sets a mark in the space of its database, and starts the worker
 * (shared/grant.c).  The worker sends the requests of all marked databases.  Then it ends,
 * unless the server has reserved a process for the worker (shared/worker.c).  core/asker.h
 * describes the requests.  The file of grants (registry/file.c) also contains tokens.  The order
 * of events is:
 *
 *		the next token is on disk < the request is sent
 *		the registry has committed < its answer is taken
 *		grants and revocations are on disk < they are in force in memory
 *
 * So after a crash at any point, the file contains the grants that were in force, except for
 * a change that was in progress: a new grant may already be in the file, and a revoked grant
 * may already be gone from it.  A server that restarts in the same place (registry/place.c)
 * uses the grants in the file at once, before its first request.
 *
 * A server that can't write the file can't send requests.  So such a server wouldn't learn that
 * the registry has given the server's grants to a copy of the server.  Therefore, grants are in
 * force only if the last attempt to write the file succeeded.  The first attempt is made before any
 * grant comes into force, and a failed attempt revokes all grants.  If the file still has grants
 * that this server has given up, and can't be written, the file is removed.
 *
 * If the request of one database fails, the other databases still get their answers: each
 * answer is written to disk and comes into force before the next request is sent.
 *
 * Like the notifier (monitor/overflow.c), the worker is connected to no database, so that it
 * never blocks DROP DATABASE.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "common/relpath.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "registry/file.h"
#include "registry/libpq.h"
#include "registry/reply.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/grant.h"
#include "shared/worker.h"

/* The maximum interval between renewals of grants; see renewal_of() */
#define RENEWAL_USEC		(600 * USECS_PER_SEC)

/* The time after a failure during which no session starts the worker again */
#define PAUSE_USEC			USECS_PER_SEC

/*
 * The maximum number of rounds in which the worker sends requests.  If the registry has
 * forgotten the holder of a database, or has given the holder's grants to a copy of the server,
 * the database asks again in the next round, as a new holder.  Databases that sessions mark
 * during a round also ask in the next round.
 */
#define ROUNDS				4

/*
 * The query for the schema of the registry's function.  The function must have the same owner as
 * the schema sno_registry.  So no function of another user is called, whatever the search path
 * is.
 */
#define FIND_SCHEMA \
	"SELECT DISTINCT pg_catalog.quote_ident(n.nspname)" \
	" FROM pg_catalog.pg_proc AS p" \
	" JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace" \
	" JOIN pg_catalog.pg_namespace AS r ON r.nspowner OPERATOR(pg_catalog.=) p.proowner" \
	" WHERE p.proname OPERATOR(pg_catalog.=) 'sno_registry_renew'::pg_catalog.name" \
	" AND r.nspname OPERATOR(pg_catalog.=) 'sno_registry'::pg_catalog.name"

/* The request.  Its parameters have exact types, so that no overloaded function is called. */
#define REQUEST \
	"SELECT " SNO_REPLY_COLUMNS \
	" FROM %s.sno_registry_renew($1::pg_catalog.int8, $2::pg_catalog.int8, $3::pg_catalog.int8," \
	" $4::pg_catalog.text, $5::pg_catalog.int8, $6::pg_catalog.int8, $7::pg_catalog.int4," \
	" $8::pg_catalog.text)"

typedef struct Client
{
	const SnoLibpq *libpq;
	SnoConnection *connection;	/* NULL if there is none */
	char	   *request;		/* the statement of a request, once there is a connection */
	bool		in_vain;		/* did an answer of the last round grant too little? */
	const char *failure;		/* why an answer granted too little, or NULL */
} Client;

PGDLLEXPORT void sno_registry_main(Datum arg);

/* The content of the file of grants */
static SnoGrantsFile grants_file;

/* The tasks of this round.  Their entries in grants_file may differ from those on disk. */
static List *tasks;

/* Does the file on disk still have grants that this server has given up? */
static bool gave_up;

/* The time after the worker's end during which no session starts it again, in µs */
static int64 pause_usec;

static Client client;

/* The memory context of one call of work() */
static MemoryContext context;

/* Return a random number that is not 0. */
static uint64
draw(void)
{
	uint64		number = 0;

	while (number == 0)
		if (!pg_strong_random(&number, sizeof(number)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
	return number;
}

/* Look up the identity of a database.  Returns false if the database was dropped. */
static bool
identify(Oid database, SnoDatabaseIdentity *identity)
{
	char		name[MAXPGPATH] = "";
	HeapTuple	tuple;

	StartTransactionCommand();
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	if (HeapTupleIsValid(tuple))
	{
		identity->incarnation = HeapTupleHeaderGetRawXmin(tuple->t_data);
		snprintf(name, MAXPGPATH, "%s/PG_VERSION",
				 GetDatabasePath(database, ((Form_pg_database) GETSTRUCT(tuple))->dattablespace));
		ReleaseSysCache(tuple);
	}
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return name[0] != '\0' && sno_file_identity(name, &identity->folder);
}

/*
 * Does the entry's database still exist?  If so, update its identity in the entry.  Returns false
 * if there is no database with the entry's OID, or if the OID now belongs to another database.
 */
static bool
is_same(SnoGrantsEntry *entry)
{
	SnoDatabaseIdentity now = {0};

	if (!identify(entry->database, &now) ||
		(now.incarnation != entry->identity.incarnation &&
		 memcmp(&now.folder, &entry->identity.folder, sizeof(SnoFileIdentity)) != 0))
		return false;
	entry->identity = now;
	return true;
}

/*
 * Remove the entries of dropped databases.  This includes entries whose OID now belongs to a
 * newer database; see is_same().
 */
static void
forget_dropped(void)
{
	for (int i = grants_file.count - 1; i >= 0; i--)
		if (!is_same(&grants_file.entry[i]))
			sno_grants_forget(&grants_file, i);
}

static void
publish_range(void)
{
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->registry.range_first = grants_file.range_first;
	sno_journal->registry.range_last = grants_file.range_last;
	LWLockRelease(&sno_journal->lock);
}

/* Read the file or write it.  A failure revokes all grants. */
static void
access_file(bool write)
{
	PG_TRY();
	{
		if (write)
			sno_grants_write(&grants_file);
		else
			sno_grants_read(&grants_file);
	}
	PG_CATCH();
	{
		sno_grants_revoke_all();
		if (gave_up)
			(void) durable_unlink(SNO_GRANTS_FILE, LOG);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!write)
		return;
	gave_up = false;
	sno_grants_are_kept();
}

/*
 * Return the monotonic time at which to renew the grants: after RENEWAL_USEC, or earlier, when
 * half of the remaining time of the grant that ends first is over.
 */
static int64
renewal_of(const SnoGrants *grants, uint64 now)
{
	int64		usec = RENEWAL_USEC;

	for (int i = 0; i < grants->count; i++)
	{
		const SnoGrant *g = &grants->grant[i];
		uint64		units = g->ceiling > now ? g->ceiling - now : 0;

		usec = Min(usec, (int64) units * SNO_UNIT_MSEC * 1000 / 2);
	}
	return sno_clock_monotonic() + Max(usec, PAUSE_USEC);
}

/* Return the entry of a task in the file, or NULL if there is none. */
static SnoGrantsEntry *
entry_of(const SnoGrantTask *task)
{
	return sno_grants_find_entry(&grants_file, task->database, &task->layout);
}

static bool
is_asked_for(const SnoGrantTask *task)
{
	ListCell   *cell;

	foreach(cell, tasks)
	{
		const SnoGrantTask *asked = lfirst(cell);

		if (asked->space == task->space && sno_layouts_equal(&asked->layout, &task->layout))
			return true;
	}
	return false;
}

/*
 * Put the grants in the file into force for each task that has no grants in force.  This is
 * necessary after a restart of the server, and after a failure to write the file.  The tasks of
 * this round are left out, because their entries may differ from those on disk.  This function is
 * also called while the worker waits for the registry, because sessions of other databases may
 * need grants meanwhile.
 */
static void
go_on_from_file(void)
{
	ListCell   *cell;

	foreach(cell, sno_grants_tasks())
	{
		const SnoGrantTask *task = lfirst(cell);
		SnoGrantsEntry *entry = entry_of(task);

		if (entry != NULL && !is_asked_for(task) && !task->in_force && is_same(entry))
			sno_grants_publish(task, &entry->asker.granted, &entry->range, 0, 0);
	}
}

/* Return the tasks that sessions have marked.  Makes an entry for each of these tasks that has none. */
static List *
list_tasks(void)
{
	List	   *list = NIL;
	ListCell   *cell;

	foreach(cell, sno_grants_tasks())
	{
		SnoGrantTask *task = lfirst(cell);
		SnoDatabaseIdentity identity = {0};

		if (!task->asked || !identify(task->database, &identity))
			continue;
		if (entry_of(task) == NULL)
			(void) sno_grants_make_entry(&grants_file, task->database, &identity, &task->layout);
		list = lappend(list, task);
	}
	return list;
}

/*
 * Record in the journal that the registry answered, and how far its clock is ahead of ours.
 * `now` is the unit of our clock.
 */
static void
note_answer(int64 registry_now, uint64 now)
{
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->registry.answered_at = GetCurrentTimestamp();
	sno_journal->registry.failed_at = 0;
	sno_journal->registry.clock_offset = (registry_now - (int64) now) * SNO_UNIT_MSEC * 1000;
	LWLockRelease(&sno_journal->lock);
}

static SnoRows
send_request(Client *c, const SnoAsker *a, uint64 now, const SnoGrantTask *task)
{
	uint64		until = Min(now + (uint64) sno_grant_duration * SNO_UNITS_PER_SEC, SNO_UNIT_MAX - 1);
	char		layout[SNO_LAYOUT_TEXT_SIZE] = "";
	const char *parameter[] = {
		psprintf(INT64_FORMAT, (int64) a->holder),
		psprintf(INT64_FORMAT, (int64) a->token),
		psprintf(INT64_FORMAT, (int64) a->next),
		sno_server[0] != '\0' ? sno_server : GetConfigOption("cluster_name", false, false),
		psprintf(UINT64_FORMAT, now),
		psprintf(UINT64_FORMAT, until),
		psprintf("%d", task->want),
		layout
	};

	if (!sno_layout_is_none(&task->layout))
		sno_layout_print(&task->layout, layout);
	return c->libpq->query(c->connection, c->request, lengthof(parameter), parameter);
}

/* Does one of the grants cover this unit? */
static bool
serves(const SnoGrants *granted, uint64 unit)
{
	for (int i = 0; i < granted->count; i++)
		if (sno_grant_covers(&granted->grant[i], unit))
			return true;
	return false;
}

static void
connect_client(Client *c)
{
	SnoRows		rows;

	if (c->connection != NULL)
		return;
	c->connection = c->libpq->begin(sno_registry, "sno", go_on_from_file);
	rows = c->libpq->query(c->connection, FIND_SCHEMA, 0, NULL);
	if (rows.count != 1 || rows.columns != 1 || rows.value[0] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("the database of the registry has no function \"%s\"",
						"sno_registry_renew"),
				 errhint("Create the extension \"sno_registry\" there.")));
	c->request = psprintf(REQUEST, rows.value[0]);
}

static void
disconnect_client(Client *c)
{
	if (c->libpq != NULL)
		c->libpq->end();
	c->connection = NULL;
}

/* Return the problem with an answer, or NULL if there is none. */
static const char *
complaint_about(const SnoGrantTask *task, SnoAnswer answer)
{
	if (answer == SNO_ANSWER_FULL)
		return sno_layout_is_none(&task->layout) ?
			"It has no more partitions to grant, or this database has its share." :
			"It has no more nodes to grant, or this database has its share.";
	return answer == SNO_ANSWER_RANGE && task->want > 0 ? "It grants no nodes of a layout that is used." : NULL;
}

/* Send the request of a task, and update the task's entry according to the answer. */
static void
ask_for(Client *c, SnoGrantTask *task)
{
	SnoGrantsEntry *entry = entry_of(task);
	SnoAsker   *a = &entry->asker;
	uint64		now = sno_clock_unit();
	SnoRows		rows = send_request(c, a, now, task);
	SnoReply	reply = sno_reply_read(&rows, &task->layout);
	const char *complaint = complaint_about(task, reply.answer);

	note_answer(reply.now, now);
	if (sno_layout_is_none(&task->layout))
	{
		grants_file.range_first = (int32) reply.range.first;
		grants_file.range_last = (int32) reply.range.last;
	}
	else
		entry->range = reply.range;
	sno_asker_take(a, reply.answer, &reply.blocks);

	if (complaint != NULL)
		c->failure = complaint;
	if (reply.answer == SNO_ANSWER_SUPERSEDED)
	{
		gave_up = true;
		ereport(LOG,
				(errmsg("another server took over the grants of the database with OID %u",
						task->database),
				 errdetail("One of the two servers is a copy of a running machine.")));
	}
	c->in_vain = c->in_vain || complaint != NULL || (task->want > 0 && !serves(&a->granted, now));
	task->again = reply.answer == SNO_ANSWER_SUPERSEDED || reply.answer == SNO_ANSWER_FORGOTTEN;
}

/* Write the tokens of all requests to disk, before the requests are sent (G4). */
static void
prepare(void)
{
	bool		changed = false;
	ListCell   *cell;

	foreach(cell, tasks)
	{
		if (sno_asker_prepare(&entry_of(lfirst(cell))->asker, draw(), draw()))
			changed = true;
	}
	if (changed)
		access_file(true);
}

/* Write the answer to disk, and then put its grants into force (G4). */
static void
publish(const SnoGrantTask *task)
{
	const SnoGrantsEntry *entry = entry_of(task);
	const SnoGrants *granted = &entry->asker.granted;
	uint64		now = sno_clock_unit();

	access_file(true);
	publish_range();
	sno_grants_publish(task, granted, &entry->range, renewal_of(granted, now), now);
	sno_grants_answered(task);
}

/* Record the current error in the journal, and log it unless it was logged recently. */
static void
note_failure(void)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	/* Abort a transaction, because this also closes files that were opened outside of transactions. */
	LWLockReleaseAll();
	if (!IsTransactionState())
		StartTransactionCommand();
	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(context);
	if (sno_journal_registry_failure(error->message))
	{
		error->elevel = LOG;
		ThrowErrorData(error);
	}
	FreeErrorData(error);
	pause_usec = PAUSE_USEC;
}

/* Send the requests of all tasks once.  Returns false if a request failed. */
static bool
ask_for_all(Client *c)
{
	volatile bool all = true;
	ListCell   *cell;

	prepare();
	c->in_vain = false;
	foreach(cell, tasks)
	{
		volatile bool asked = false;

		connect_client(c);
		PG_TRY();
		{
			ask_for(c, lfirst(cell));
			asked = true;
		}
		PG_CATCH();
		{
			note_failure();
			disconnect_client(c);
			all = false;
		}
		PG_END_TRY();
		if (asked)
			publish(lfirst(cell));
	}
	return all;
}

static void
run(void)
{
	(void) RecoveryInProgress();	/* makes this process notice the end of recovery */
	access_file(false);
	publish_range();
	if (!sno_grants_were_kept())
		access_file(true);

	/*
	 * Only the first call in a process loads the library.  Systems without a registry have no such
	 * library: there, access to the file has raised an error.
	 */
	client.libpq = ((SnoLibpqFunctions)
					load_external_function(SNO_LIBPQ_LIBRARY, SNO_LIBPQ_FUNCTION, true, NULL)) ();
	for (int i = 0; i < ROUNDS; i++)
	{
		/* At this point, all entries in memory are on disk. */
		tasks = NIL;
		forget_dropped();
		go_on_from_file();
		tasks = list_tasks();
		if (tasks == NIL || !ask_for_all(&client))
			break;
	}
	if (client.failure != NULL && sno_journal_registry_failure(client.failure))
		ereport(LOG,
				(errmsg("the registry did not grant the requested partitions or nodes"),
				 errdetail_internal("%s", client.failure)));
	if (client.in_vain)
		pause_usec = PAUSE_USEC;
}

/* Do the work of the worker, unless another process is doing it. */
static void
work(void)
{
	if (!sno_is_registered() || !sno_worker_begin(SNO_REGISTRY_CLIENT))
		return;
	context = AllocSetContextCreate(TopMemoryContext, "sno registry client", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	client = (Client) {0};
	grants_file = (SnoGrantsFile) {0};
	tasks = NIL;
	gave_up = false;
	pause_usec = 0;
	PG_TRY();
	{
		run();
	}
	PG_CATCH();
	{
		note_failure();
	}
	PG_END_TRY();
	disconnect_client(&client);
	MemoryContextSwitchTo(TopMemoryContext);
	MemoryContextDelete(context);
	sno_worker_end(SNO_REGISTRY_CLIENT, pause_usec);
}

static void
end_client(int code, Datum arg)
{
	sno_worker_end(SNO_REGISTRY_CLIENT, 0);
}

/*
 * The main function of the registry client.  If `stays` is true, the process does its work
 * whenever a session asks for it.  Otherwise it does the work once, and ends.
 */
void
sno_registry_main(Datum stays)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	sno_shmem_attach();
	before_shmem_exit(end_client, (Datum) 0);
	if (DatumGetBool(stays))
		sno_worker_stay(SNO_REGISTRY_CLIENT, work);
	work();
}
