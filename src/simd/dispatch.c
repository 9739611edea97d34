/*
 * dispatch.c
 *		Which codec is in use.
 *
 * Those compiled in are the rows of a table.  What the processor has, and the
 * operating system lets us use of it, is known to the compiler's run-time
 * library; every arm64 has NEON.  Each row takes the fastest function of each
 * kind that its machines can run, so that some appear in several: a single id
 * does not fill the wider registers, and is not decoded faster in them.
 *
 * There is none that takes bits apart with pdep and pext.  Each half of an id
 * has to go through them alone, and is then still to be mapped to characters,
 * so that it comes out slower than shuffles of a whole id.
 */
#include "simd/kernel.h"

#ifdef SNO_X86
static bool
has_avx512vbmi(void)
{
	return __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512vbmi");
}

static bool
has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static bool
has_ssse3(void)
{
	return __builtin_cpu_supports("ssse3");
}
#endif

static bool
always(void)
{
	return true;
}

const SnoCodec sno_codecs[] = {
#ifdef SNO_X86
	{
		"avx512vbmi", has_avx512vbmi,
		sno_avx512vbmi_encode, sno_ssse3_decode,
		sno_avx512vbmi_encode_many, sno_avx512vbmi_decode_many
	},
	{
		"avx2", has_avx2,
		sno_ssse3_encode, sno_ssse3_decode,
		sno_avx2_encode_many, sno_avx2_decode_many
	},
	{
		"ssse3", has_ssse3,
		sno_ssse3_encode, sno_ssse3_decode,
		sno_ssse3_encode_many, sno_ssse3_decode_many
	},
#endif
#ifdef SNO_NEON
	{
		"neon", always,
		sno_neon_encode, sno_neon_decode,
		sno_neon_encode_many, sno_neon_decode_many
	},
#endif
	{
		"portable", always,
		sno_portable_encode, sno_portable_decode,
		sno_portable_encode_many, sno_portable_decode_many
	}
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
