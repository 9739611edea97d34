/*
 * resolver.c
 *		A library to be preloaded into a server: the resolver never answers for the hosts
 *		registry.example and orphan.example, and is as ever for all others.
 *
 * The postmaster inherits processes whose parents were killed, as if it were process 1 of a
 * container.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((constructor)) static void
inherit(void)
{
	(void) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Wait until the parent was killed, and then let the timer of this process end soon, if it is set. */
static void
shorten_timer(void)
{
	pid_t		parent = getppid();

	while (getppid() == parent)
		usleep(10000);
	if (alarm(1) == 0)
		alarm(0);
}

int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
			struct addrinfo **result)
{
	int			(*real) (const char *, const char *, const struct addrinfo *, struct addrinfo **);

	if (node != NULL && strcmp(node, "orphan.example") == 0)
		shorten_timer();
	while (node != NULL && (strcmp(node, "registry.example") == 0 || strcmp(node, "orphan.example") == 0))
		pause();
	real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real(node, service, hints, result);
}
