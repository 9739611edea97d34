/*
 * resolver.c
 *		A library to be preloaded into a server: the resolver never answers for the host
 *		registry.example, and is as ever for all others.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
			struct addrinfo **result)
{
	int			(*real) (const char *, const char *, const struct addrinfo *, struct addrinfo **);

	while (node != NULL && strcmp(node, "registry.example") == 0)
		pause();
	real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real(node, service, hints, result);
}
