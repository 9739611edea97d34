/*
 * codec.c
 *		Proofs about the bytes of ids and of layouts, and the text form.
 *
 * options: --unwind 18
 */
#include "simd/portable.c"
#include "core/flake.c"
#include "proof.h"

static Sno
any_sno(void)
{
	Sno			id;

	return id;
}

static bool
is_of_alphabet(char c)
{
	return (c >= '2' && c <= '9') || (c >= 'a' && c <= 'x');
}

PROOF(fields)
{
	SnoFields	f = {
		.unit = any_between(0, SNO_UNIT_MAX),
		.tick_tock = nondet_bool(),
		.meta = nondet_uint8(),
		.partition = (uint16_t) any_between(0, SNO_PARTITION_MAX),
		.sequence = (uint16_t) any_between(0, SNO_SEQUENCE_MAX)
	};
	SnoFields	back;
	Sno			id;

	sno_pack(&id, f);
	back = sno_unpack(&id);
	PROVE(back.unit == f.unit && back.tick_tock == f.tick_tock && back.meta == f.meta);
	PROVE(back.partition == f.partition && back.sequence == f.sequence);
	MAY_BE(f.unit == SNO_UNIT_MAX);
}

PROOF(fields_back)
{
	Sno			id = any_sno();
	Sno			back;

	sno_pack(&back, sno_unpack(&id));
	PROVE(sno_compare(&id, &back) == 0 && memcmp(&id, &back, SNO_SIZE) == 0);
	MAY_BE(id.byte[0] == 255);
}

PROOF(compare)
{
	Sno			a = any_sno();
	Sno			b = any_sno();
	int			bytes = memcmp(&a, &b, SNO_SIZE);
	int			order = sno_compare(&a, &b);

	PROVE((order < 0) == (bytes < 0) && (order > 0) == (bytes > 0));
	MAY_BE(order < 0);
	MAY_BE(order == 0);
	MAY_BE(order > 0);
}

PROOF(encode)
{
	Sno			id = any_sno();
	Sno			back;
	char		text[SNO_TEXT_SIZE];
	unsigned	place = (unsigned) any_between(0, SNO_TEXT_SIZE - 1);

	sno_portable_encode(id.byte, text);
	PROVE(is_of_alphabet(text[place]));
	PROVE(sno_portable_decode(text, back.byte) == SNO_TEXT_SIZE);
	PROVE(memcmp(&id, &back, SNO_SIZE) == 0);
	MAY_BE(text[place] == 'x');
}

PROOF(decode)
{
	Sno			id = any_sno();
	const Sno	untouched = id;
	char		text[SNO_TEXT_SIZE];
	char		back[SNO_TEXT_SIZE];
	int			place = (int) any_between(0, SNO_TEXT_SIZE - 1);
	int			end = sno_portable_decode(text, id.byte);

	PROVE(end >= 0 && end <= SNO_TEXT_SIZE);
	PROVE(place >= end || is_of_alphabet(text[place]));
	if (end < SNO_TEXT_SIZE)
		PROVE(!is_of_alphabet(text[end]) && memcmp(&id, &untouched, SNO_SIZE) == 0);
	else
	{
		sno_portable_encode(id.byte, back);
		PROVE(memcmp(text, back, SNO_TEXT_SIZE) == 0);
	}
	MAY_BE(end == SNO_TEXT_SIZE);
	MAY_BE(end == 0);
	MAY_BE(end == SNO_TEXT_SIZE - 1);
}

/* Texts sort as ids do. */
PROOF(text_order)
{
	Sno			a = any_sno();
	Sno			b = any_sno();
	char		text_a[SNO_TEXT_SIZE];
	char		text_b[SNO_TEXT_SIZE];

	sno_portable_encode(a.byte, text_a);
	sno_portable_encode(b.byte, text_b);
	PROVE((memcmp(text_a, text_b, SNO_TEXT_SIZE) < 0) == (sno_compare(&a, &b) < 0));
	MAY_BE(sno_compare(&a, &b) < 0);
}

static SnoLayout
any_layout(void)
{
	return (SnoLayout) {
		.epoch = nondet_int64(),
		.unit = nondet_uint32(),
		.time_bits = nondet_uint8(),
		.node_bits = nondet_uint8(),
		.sequence_bits = nondet_uint8(),
		.node_last = nondet_bool()
	};
}

PROOF(layout_bytes)
{
	SnoLayout	layout = any_layout();
	SnoLayout	other = any_layout();
	SnoLayout	back;
	uint8_t		bytes[SNO_LAYOUT_SIZE];
	uint8_t		others[SNO_LAYOUT_SIZE];

	sno_layout_write(&layout, bytes);
	sno_layout_write(&other, others);
	back = sno_layout_read(bytes);
	PROVE(sno_layouts_equal(&layout, &back));
	PROVE(sno_layouts_equal(&layout, &other) == (memcmp(bytes, others, SNO_LAYOUT_SIZE) == 0));
	MAY_BE(sno_layouts_equal(&layout, &other));
}
