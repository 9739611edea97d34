/*
 * dispatch.c
 *		The choice of the codec.
 *
 * The codecs of this build are the rows of a table.  When a process starts, glibc detects which
 * instructions the processor and the operating system support.  Without glibc, the compiler's
 * run-time library does it when sno is loaded, by a dozen cpuid instructions, each of which
 * takes some microseconds on a virtual machine.  Every arm64 machine has NEON.
 *
 * bench/copy.sh shows that COPY is faster with SSSE3 than with the portable codec.  A
 * single id fits into a register of SSSE3, so AVX2 would gain nothing.  AVX-512 has
 * better instructions to encode an id, but they save at most 2 ns of the 70 ns that COPY
 * takes for a row.  NEON corresponds to SSSE3 on arm64.
 *
 * No codec splits bits with the instructions pdep and pext.  Each half of an id
 * would have to be split separately, and the characters would still have to be
 * looked up.  That is slower than shuffles of a whole id.
 */
#include "simd/kernel.h"

#if defined(SNO_X86) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

#ifdef SNO_X86
static bool
has_ssse3(void)
{
#ifdef CPU_FEATURE_ACTIVE
	return CPU_FEATURE_ACTIVE(SSSE3);
#else
	return __builtin_cpu_supports("ssse3");
#endif
}
#endif

static bool
always(void)
{
	return true;
}

const SnoCodec sno_codecs[] = {
#ifdef SNO_X86
	{"ssse3", has_ssse3, sno_ssse3_encode, sno_ssse3_decode},
#endif
#ifdef SNO_NEON
	{"neon", always, sno_neon_encode, sno_neon_decode},
#endif
	{"portable", always, sno_portable_encode, sno_portable_decode}
};

#define CODECS	((int) (sizeof(sno_codecs) / sizeof(sno_codecs[0])))

const int	sno_codec_count = CODECS;
const SnoCodec *sno_codec_active = &sno_codecs[CODECS - 1];

bool
sno_codec_choose(const char *name)
{
	bool		any = strcmp(name, "auto") == 0;

	for (int i = 0; i < CODECS; i++)
	{
		if ((any || strcmp(name, sno_codecs[i].name) == 0) &&
			sno_codecs[i].supported())
		{
			sno_codec_active = &sno_codecs[i];
			return true;
		}
	}
	return false;
}
