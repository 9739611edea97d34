/*
 * text.c
 *		The text forms of ids of other systems.
 *
 * A text form is the id as a number, in the digits of the layout, without leading zeros.
 * If the layout has no digits of its own, a bigint is written in decimal, and a uuid as
 * the type uuid writes it; a bytea is written in hexadecimal, with leading zeros.  A call
 * may pass other digits, and a minimum width.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

#include "compat.h"
#include "flake/value.h"

typedef struct Form
{
	const char *digits;			/* NULL: type uuid reads and writes the text */
	unsigned	base;			/* number of digits */
	int			size;			/* length of each text; 0 if the lengths differ */
} Form;

/*
 * Return the digits that a call passes.  Raises an error unless the digits are 2 to 64 different
 * visible ASCII characters.
 */
static char *
digits_of(const text *argument)
{
	char	   *digits = text_to_cstring(argument);
	size_t		base = strlen(digits);
	bool		good = base >= 2 && base <= 64;

	for (size_t i = 0; good && i < base; i++)
		good = digits[i] > ' ' && digits[i] <= '~' && strchr(digits + i + 1, digits[i]) == NULL;
	if (!good)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid digits: \"%s\"", digits),
				 errdetail("A text form has 2 to 64 different visible characters of ASCII as its digits.")));
	return digits;
}

/*
 * Return the text form that a call uses.  The third argument has the digits, or is empty for the
 * form of the layout.
 */
static Form
form_of(FunctionCallInfo fcinfo, const SnoNamedLayout *layout)
{
	const text *argument = PG_GETARG_TEXT_PP(2);

	if (VARSIZE_ANY_EXHDR(argument) > 0)
	{
		char	   *digits = digits_of(argument);

		return (Form) {digits, strlen(digits)};
	}
	if (layout->digits != NULL)
		return (Form) {layout->digits, strlen(layout->digits)};
	switch (layout->type)
	{
		case SNO_FLAKE_BIGINT:
			return (Form) {"0123456789", 10};
		case SNO_FLAKE_UUID:
			return (Form) {NULL};
		default:
			return (Form) {"0123456789abcdef", 16, sno_layout_bits(&layout->layout) / 4};
	}
}

/* Divide an id by a base of at most 32 bits, and return the remainder. */
static unsigned
divide(SnoFlake *id, unsigned base)
{
	uint64		left = id->high % base << 32 | id->low >> 32;
	uint64		upper = left / base;

	id->high /= base;
	left = left % base << 32 | (id->low & UINT32_MAX);
	id->low = upper << 32 | left / base;
	return left % base;
}

/* Multiply an id by a base, and add a digit.  Returns false if the result has more than 128 bits. */
static bool
multiply(SnoFlake *id, unsigned base, unsigned digit)
{
	uint64		lower = (id->low & UINT32_MAX) * base + digit;
	uint64		upper = (id->low >> 32) * base + (lower >> 32);

	if (id->high > (UINT64_MAX - (upper >> 32)) / base)
		return false;
	id->high = id->high * base + (upper >> 32);
	id->low = upper << 32 | (lower & UINT32_MAX);
	return true;
}

static Datum
write_text(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	const SnoNamedLayout *layout = sno_value_layout(fcinfo, 1, type, NULL);
	SnoFlake	id = sno_value_from_datum(layout, PG_GETARG_DATUM(0));
	Form		form = form_of(fcinfo, layout);
	int			width = PG_GETARG_INT32(3);
	char		digits[128];	/* enough for 128 bits in base 2 */
	char	   *end = digits + sizeof(digits);
	char	   *first = end;

	if (width < 0 || width > (int) sizeof(digits))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid width: %d", width),
				 errdetail("A width is 0 to %d characters.", (int) sizeof(digits))));

	if (form.digits == NULL)
		PG_RETURN_TEXT_P(cstring_to_text(DatumGetCString(DirectFunctionCall1(uuid_out, PG_GETARG_DATUM(0)))));
	do
		*--first = form.digits[divide(&id, form.base)];
	while (id.high != 0 || id.low != 0 || end - first < Max(form.size, width));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(first, end - first));
}

SNO_FLAKE_READERS(sno_flake_text, write_text)

pg_noreturn static void refuse(const SnoNamedLayout *layout, const text *input);

static void
refuse(const SnoNamedLayout *layout, const text *input)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for layout \"%s\": \"%s\"",
					layout->name, text_to_cstring(input))));
}

/* Do any two of the digits differ only in case? */
static bool
has_both_cases(Form form)
{
	for (const char *p = form.digits; *p != '\0'; p++)
		if (*p != pg_ascii_tolower(*p) && strchr(form.digits, pg_ascii_tolower(*p)) != NULL)
			return true;
	return false;
}

static const char *
find_digit(Form form, bool any_case, unsigned char c)
{
	const char *digit = memchr(form.digits, c, form.base);

	if (digit == NULL && any_case)
		digit = memchr(form.digits, pg_ascii_tolower(c), form.base);
	if (digit == NULL && any_case)
		digit = memchr(form.digits, pg_ascii_toupper(c), form.base);
	return digit;
}

static SnoFlake
parse(const SnoNamedLayout *layout, Form form, const text *input)
{
	const char *p = VARDATA_ANY(input);
	int			size = VARSIZE_ANY_EXHDR(input);
	SnoFlake	id = {0, 0};
	bool		any_case = !has_both_cases(form);

	if (size == 0 || (form.size != 0 && size != form.size))
		refuse(layout, input);
	for (int i = 0; i < size; i++)
	{
		const char *digit = find_digit(form, any_case, p[i]);

		CHECK_FOR_INTERRUPTS();	/* the text may begin with very many zeros */
		if (digit == NULL)
			refuse(layout, input);
		if (!multiply(&id, form.base, digit - form.digits) || !sno_value_fits(layout, id))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("\"%s\" is out of range for layout \"%s\"",
							text_to_cstring(input), layout->name),
					 errdetail("Its ids have %u bits.", sno_layout_bits(&layout->layout))));
	}
	return id;
}

static Datum
read_text(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	const SnoNamedLayout *layout = sno_value_layout(fcinfo, 1, type, "sno_flake_from_text");
	const text *input = PG_GETARG_TEXT_PP(0);
	Form		form = form_of(fcinfo, layout);

	if (form.digits == NULL)
		return DirectFunctionCall1(uuid_in, CStringGetDatum(text_to_cstring(input)));
	return sno_value_datum(layout, parse(layout, form, input));
}

SNO_FLAKE_MAKERS(sno_flake_from_text, read_text)
