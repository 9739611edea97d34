/*
 * exhaust.c
 *		A library to be preloaded into a server.  It makes a resource run out in one
 *		process, or in all background workers, at a chosen place: when the n-th piece of
 *		it is asked for by the extension, or by what the extension calls.
 *
 * The file that the variable EXHAUST names is mapped, and tells which.  So a test can
 * try n = 1, 2, 3, ... until nothing fails any more.  Then each place has failed once.
 *
 * What PostgreSQL allocates in a memory context mostly needs no malloc().  So the method
 * of the contexts is replaced.
 */
#define _GNU_SOURCE
#include "postgres.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "storage/lock.h"
#include "utils/memutils.h"

/* What may run out, as bits */
enum
{
	CONTEXT = 1, HEAP = 2, FILES = 4, MAPPINGS = 8, DISK = 16, PROCESSES = 32,
	/* Nothing does, but a request comes, as soon as interrupts are looked for. */
	CANCEL = 64, TERMINATE = 128
};

/* Whose calls count, instead of a pid. */
#define ANY_BACKGROUND_WORKER	(-1)

typedef struct Exhaust
{
	int32		pid;			/* 0: none */
	uint32		what;
	uint32		at;				/* the n-th, from 1 on */
	uint32		lasting;		/* do all fail after it, too? */
	volatile uint32 asked;		/* so many by now */
	volatile uint32 failed;
} Exhaust;

#define FRAMES	48

/* Other programs that the library is loaded into have none of these. */
#pragma weak TopMemoryContext
#pragma weak MyBackendType

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static Exhaust nothing;
static volatile Exhaust *told = &nothing;
static void *(*real_alloc) (MemoryContext context, Size size);
static bool looking;

static int
note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	char	   *const *frames = arg;
	const char *name = strrchr(info->dlpi_name, '/');

	(void) size;
	if (name == NULL || (strcmp(name, "/sno.so") != 0 && strcmp(name, "/sno_libpq.so") != 0))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) * p = &info->dlpi_phdr[i];
		char	   *first = (char *) info->dlpi_addr + p->p_vaddr;

		for (int f = 0; p->p_type == PT_LOAD && frames[f] != NULL; f++)
			if (frames[f] >= first && frames[f] < first + p->p_memsz)
				return 1;
	}
	return 0;
}

/* Does the extension ask for it? */
static bool
is_for_extension(void)
{
	void	   *frames[FRAMES + 1] = {NULL};

	(void) backtrace(frames, FRAMES);
	return dl_iterate_phdr(note_library, frames) != 0;
}

static bool
is_told(uint32 what)
{
	if ((told->what & what) == 0)
		return false;
	if (told->pid == ANY_BACKGROUND_WORKER)
		return &MyBackendType != NULL && MyBackendType == B_BG_WORKER;
	return told->pid == getpid();
}

/* Has it run out? */
static bool
is_exhausted(uint32 what)
{
	uint32		asked;

	if (looking || !is_told(what))
		return false;
	looking = true;
	asked = is_for_extension() ? __atomic_add_fetch(&told->asked, 1, __ATOMIC_SEQ_CST) : 0;
	looking = false;
	if (asked == 0 || (told->lasting ? asked < told->at : asked != told->at))
		return false;
	__atomic_add_fetch(&told->failed, 1, __ATOMIC_SEQ_CST);
	return true;
}

/*
 * What PostgreSQL keeps in reserve for errors, and what the lock manager asks for after it
 * has begun an entry of its table.  A session that locks the same again in the transaction,
 * after a subtransaction failed there, ends by SIGSEGV.
 */
static bool
is_spared(MemoryContext context, Size size)
{
	return strcmp(context->name, "ErrorContext") == 0 ||
		strcmp(context->name, "TransactionAbortContext") == 0 ||
		(context == TopMemoryContext && size == 8 * sizeof(LOCALLOCKOWNER));
}

static void *
alloc(MemoryContext context, Size size)
{
	if (!is_spared(context, size) && is_exhausted(CONTEXT))
		return NULL;
	if (is_exhausted(CANCEL))
		kill(getpid(), SIGINT);
	if (is_exhausted(TERMINATE))
		kill(getpid(), SIGTERM);
	return real_alloc(context, size);
}

/* Replace the method of all contexts of the usual kind, once there is one. */
static void
take_contexts(void)
{
	static bool taken = false;
	MemoryContextMethods *methods;
	uintptr_t	page;

	if (taken || &TopMemoryContext == NULL || TopMemoryContext == NULL)
		return;
	taken = true;
	methods = (MemoryContextMethods *) TopMemoryContext->methods;
	page = (uintptr_t) methods & ~(uintptr_t) (sysconf(_SC_PAGESIZE) - 1);
	if (mprotect((void *) page, (char *) (methods + 1) - (char *) page, PROT_READ | PROT_WRITE) != 0)
		abort();
	real_alloc = methods->alloc;
	methods->alloc = alloc;
}

__attribute__((constructor))
static void
begin(void)
{
	const char *path = getenv("EXHAUST");
	int			file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void	   *frames[1];
	void	   *map;

	(void) backtrace(frames, 1);	/* it loads a library */
	if (file < 0)
		return;
	map = mmap(NULL, sizeof(Exhaust), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (map != MAP_FAILED)
		told = map;
	close(file);
}

void *
malloc(size_t size)
{
	take_contexts();
	if (is_exhausted(HEAP))
	{
		errno = ENOMEM;
		return NULL;
	}
	return __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
	if (is_exhausted(HEAP))
	{
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(count, size);
}

void *
realloc(void *old, size_t size)
{
	if (is_exhausted(HEAP))
	{
		errno = ENOMEM;
		return NULL;
	}
	return __libc_realloc(old, size);
}

/* Define a function that fails by an error, and else is that of the C library. */
#define FAILING(type, name, parameters, arguments, resource, error, failure) \
type \
name parameters \
{ \
	static type (*real) parameters; \
\
	if (real == NULL) \
		real = dlsym(RTLD_NEXT, #name); \
	if (is_exhausted(resource)) \
	{ \
		errno = error; \
		return failure; \
	} \
	return real arguments; \
}

FAILING(int, shm_open, (const char *name, int flags, mode_t mode), (name, flags, mode), FILES, EMFILE, -1)
FAILING(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds), FILES, EMFILE, -1)
FAILING(FILE *, fopen, (const char *restrict name, const char *restrict mode), (name, mode), FILES, EMFILE, NULL)
FAILING(void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
		(at, size, protection, flags, fd, offset), MAPPINGS, ENOMEM, MAP_FAILED)
FAILING(int, posix_fallocate, (int fd, off_t offset, off_t size), (fd, offset, size), DISK, 0, ENOSPC)
FAILING(int, ftruncate, (int fd, off_t size), (fd, size), DISK, ENOSPC, -1)
FAILING(pid_t, fork, (void), (), PROCESSES, EAGAIN, -1)

/* What can't be written to WAL ends any server. */
static bool
is_full(int fd)
{
	char		link[64],
				name[1024] = "";

	if (!is_told(DISK))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, name, sizeof(name) - 1) > 0 && strstr(name, "pg_wal") == NULL &&
		is_exhausted(DISK);
}

ssize_t
write(int fd, const void *bytes, size_t size)
{
	static ssize_t (*real) (int, const void *, size_t);

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "write");
	/* The log and the client */
	if (fd <= 2 || !is_full(fd))
		return real(fd, bytes, size);
	errno = ENOSPC;
	return -1;
}

ssize_t
pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	static ssize_t (*real) (int, const void *, size_t, off_t);

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "pwrite");
	if (!is_full(fd))
		return real(fd, bytes, size, offset);
	errno = ENOSPC;
	return -1;
}

int
open(const char *name, int flags,...)
{
	static int	(*real) (const char *, int,...);
	va_list		arguments;
	mode_t		mode;

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "open");
	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (strstr(name, "pg_wal") == NULL && is_exhausted(FILES))
	{
		errno = EMFILE;
		return -1;
	}
	return real(name, flags, mode);
}
