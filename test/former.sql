-- A dump of a database of a build before 1.0, made by pg_dump for test/t/009_former.pl.  The
-- clock stood at 2026-11-01 12:00:00 UTC.  Table "issued" has ids of all generators.  A session
-- that had made ids by "orders", "snow" and "count" was still connected.

--
-- PostgreSQL database dump
--

-- Dumped from database version 15
-- Dumped by pg_dump version 15

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: ids; Type: SCHEMA; Schema: -; Owner: regress_owner
--

CREATE SCHEMA ids;

ALTER SCHEMA ids OWNER TO regress_owner;

--
-- Name: sno; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS sno WITH SCHEMA ids;

--
-- Name: EXTENSION sno; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION sno IS 'sno: compact, time-sortable 10-byte ids, and generators that never issue an id twice';

--
-- Name: create_counter(text); Type: FUNCTION; Schema: public; Owner: regress_owner
--

CREATE FUNCTION public.create_counter(name text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ids'
    AS $$
BEGIN
    PERFORM sno_create_flake(name, 'counter');
    RETURN sno_flake(name);
END$$;

ALTER FUNCTION public.create_counter(name text) OWNER TO regress_owner;

--
-- Name: lend(); Type: FUNCTION; Schema: public; Owner: regress_owner
--

CREATE FUNCTION public.lend() RETURNS jsonb
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT sno_lease.snapshot
    FROM ids.sno_lease('00:10:00'::interval) sno_lease(snapshot, until);
END;

ALTER FUNCTION public.lend() OWNER TO regress_owner;

--
-- Name: maintain(); Type: PROCEDURE; Schema: public; Owner: regress_owner
--

CREATE PROCEDURE public.maintain()
    LANGUAGE plpgsql
    SET search_path TO 'ids'
    AS $$
BEGIN
    CALL sno_partition_by_time('public.log', '1 month');
END$$;

ALTER PROCEDURE public.maintain() OWNER TO regress_owner;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: event; Type: TABLE; Schema: public; Owner: regress_owner
--

CREATE TABLE public.event (
    id uuid DEFAULT ids.sno_flake_uuid('boundary'::text),
    short bytea DEFAULT ids.sno_flake_bytea('object'::text)
);

ALTER TABLE public.event OWNER TO regress_owner;

--
-- Name: issued; Type: TABLE; Schema: public; Owner: regress_owner
--

CREATE TABLE public.issued (
    generator text,
    id text
);

ALTER TABLE public.issued OWNER TO regress_owner;

--
-- Name: log; Type: TABLE; Schema: public; Owner: regress_owner
--

CREATE TABLE public.log (
    id ids.sno NOT NULL
)
PARTITION BY RANGE (id);

ALTER TABLE public.log OWNER TO regress_owner;

--
-- Name: message; Type: TABLE; Schema: public; Owner: regress_owner
--

CREATE TABLE public.message (
    id bigint DEFAULT ids.sno_flake('snow'::text) NOT NULL,
    body text NOT NULL,
    CONSTRAINT message_body_check CHECK (((body <> ''::text) OR (ids.sno_flake('count'::text) > 0))),
    CONSTRAINT message_id_check CHECK ((ids.sno_flake_timestamp(id, 'snowflake'::text) > '2026-01-01 00:00:00+00'::timestamp with time zone))
);

ALTER TABLE public.message OWNER TO regress_owner;

--
-- Name: person; Type: TABLE; Schema: public; Owner: regress_owner
--

CREATE TABLE public.person (
    id ids.sno DEFAULT ids.sno_generate(1) NOT NULL,
    name text NOT NULL
);

ALTER TABLE public.person OWNER TO regress_owner;

--
-- Name: state; Type: VIEW; Schema: public; Owner: regress_owner
--

CREATE VIEW public.state AS
 SELECT ids.sno_take_snapshot('orders'::text) AS orders,
    ids.sno_take_snapshot() AS session;

ALTER TABLE public.state OWNER TO regress_owner;

--
-- Name: visit; Type: TABLE; Schema: public; Owner: regress_owner
--

CREATE TABLE public.visit (
    id bigint DEFAULT ids.sno_flake('own'::text) NOT NULL,
    n integer
);

ALTER TABLE public.visit OWNER TO regress_owner;

--
-- Data for Name: event; Type: TABLE DATA; Schema: public; Owner: regress_owner
--

COPY public.event (id, short) FROM stdin;
000001a1-96fb-1600-ffff-fffffd700000	\\x6ae729c00000000009000000
000001a1-96fb-1600-ffff-fffffd700001	\\x6ae729c00000000009000001
000001a1-96fb-1600-ffff-fffffd700002	\\x6ae729c00000000009000002
\.

--
-- Data for Name: issued; Type: TABLE DATA; Schema: public; Owner: regress_owner
--

COPY public.issued (generator, id) FROM stdin;
orders	9pdwelq229n82222
orders	9pdwelq229n82223
orders	9pdwelq229n82224
orders	9pdwelq229n82225
orders	9pdwelq229n82226
bounded	9pdwelq22xn84256
bounded	9pdwelq22xn84257
bounded	9pdwelq22xn84258
bounded	9pdwelq22xn84259
bounded	9pdwelq22xn8425a
closed	9pdwelq229n86222
closed	9pdwelq229n86223
closed	9pdwelq229n86224
closed	9pdwelq229n86225
closed	9pdwelq229n86226
snow	2116862818513866755
snow	2116862818513866756
snow	2116862818513866757
snow	2116862818513866758
snow	2116862818513866759
two	2116862818513879040
two	2116862818513879041
two	2116862818513879042
two	2116862818513879043
two	2116862818513879044
own	3618805226078213
own	3618805226078214
own	3618805226078215
own	3618805226078216
own	3618805226078217
own count	4396
own count	8492
own count	12588
own count	16684
own count	20780
count	1
count	2
count	3
count	4
count	5
other count	1
other count	2
other count	3
other count	4
other count	5
odd	3
odd	5
odd	7
odd	9
odd	11
sealed	-6204451742464645086
sealed	6324181467078218454
sealed	-7082155332799824309
sealed	2849567732141228334
sealed	-6676062398318982046
boundary	000001a1-96fb-1600-ffff-fffffd700003
boundary	000001a1-96fb-1600-ffff-fffffd700004
boundary	000001a1-96fb-1600-ffff-fffffd700005
boundary	000001a1-96fb-1600-ffff-fffffd700006
boundary	000001a1-96fb-1600-ffff-fffffd700007
object	\\x6ae729c00000000009000003
object	\\x6ae729c00000000009000004
object	\\x6ae729c00000000009000005
object	\\x6ae729c00000000009000006
object	\\x6ae729c00000000009000007
feed	9pdwelq222222222
orders	9pdwelq229n82227
snow	2116862818513866760
count	6
\.

--
-- Data for Name: message; Type: TABLE DATA; Schema: public; Owner: regress_owner
--

COPY public.message (id, body) FROM stdin;
2116862818513866752	say sno_flake('snow')
2116862818513866753	sno_lease()
2116862818513866754	three
\.

--
-- Data for Name: person; Type: TABLE DATA; Schema: public; Owner: regress_owner
--

COPY public.person (id, name) FROM stdin;
9pdwelq22628i222	session 1
9pdwelq22628i223	session 1
9pdwelq22628i224	session 1
9pdwelq22628i225	session 1
9pdwelq22628i226	session 1
9pdwelq22628k222	session 2
9pdwelq22628k223	session 2
9pdwelq22628k224	session 2
9pdwelq22628k225	session 2
9pdwelq22628k226	session 2
9pdwelq22628m222	session 3
9pdwelq22628m223	session 3
9pdwelq22628m224	session 3
9pdwelq22628m225	session 3
9pdwelq22628m226	session 3
9i5k2q232628a6oe	given time
9i5k2q232628a6of	given time
9i5k2q232628a6og	given time
\.

--
-- Data for Name: visit; Type: TABLE DATA; Schema: public; Owner: regress_owner
--

COPY public.visit (id, n) FROM stdin;
3618805226078208	1
3618805226078209	2
3618805226078210	3
3618805226078211	4
3618805226078212	5
\.

--
-- Data for Name: sno_generator; Type: TABLE DATA; Schema: sno_catalog; Owner: postgres
--

COPY sno_catalog.sno_generator (name, partition, sequence_min, sequence_max, meta, system_identifier, timeline, key, database, home, role) FROM stdin;
orders	60000	0	65535	\N	7711535956087244611	1	\N	16386	3118332851523	\N
bounded	60001	100	999	7	7711535956087244611	1	\N	16386	3118332851523	\N
unused	60003	0	65535	\N	7711535956087244611	1	\N	16386	3118332851523	\N
snow	65536	5	5	\N	7711535956087244611	1	\N	16386	3118332851523	\N
own	65635	3	3	\N	7711535956087244611	1	\N	16386	3118332851523	\N
own count	65636	278351963537708	278351963537708	\N	7711535956087244611	1	\N	16386	3118332851523	\N
count	65553	249100662055540	249100662055540	\N	7711535956087244611	1	\N	16386	3118332851523	\N
other count	65553	109655818039318	109655818039318	\N	7711535956087244611	1	\N	16386	3118332851523	\N
odd	65552	63987560372733	63987560372733	\N	7711535956087244611	1	\N	16386	3118332851523	\N
boundary	65550	281474976710000	281474976710000	\N	7711535956087244611	1	\N	16386	3118332851523	\N
object	65551	9	9	\N	7711535956087244611	1	\N	16386	3118332851523	\N
sealed	65547	1	1	\N	7711535956087244611	1	key	16386	3118332851523	\N
closed	60002	0	65535	\N	7711535956087244611	1	\N	16386	3118332851523	regress_app
two	65536	8	9	\N	7711535956087244611	1	\N	16386	3118332851523	regress_app
\.

--
-- Data for Name: sno_layout; Type: TABLE DATA; Schema: sno_catalog; Owner: postgres
--

COPY sno_catalog.sno_layout (id, name, epoch, unit, time_bits, node_bits, sequence_bits, node_last, digits) FROM stdin;
100	ours	2020-01-01 00:00:00+00	1000	31	8	16	f	0123456789abcdef
101	our numbers	\N	0	40	12	0	f	\N
\.

--
-- Data for Name: sno_lease; Type: TABLE DATA; Schema: sno_catalog; Owner: postgres
--

COPY sno_catalog.sno_lease (holder, system_identifier, timeline, database, partition, sequence_min, sequence_max, sequence, wall_hi, drifts, tick_until, tock_until, taken_at, named, home) FROM stdin;
-4833801502864601304	7711535956087244611	1	16386	-1	0	0	0	2026-11-01 12:00:01+00	0	2026-11-01 12:00:01+00	2026-11-01 12:00:01+00	2026-11-01 12:00:00+00	f	3118332851523
-8538063742739324740	7711535956087244611	1	16386	104	0	65535	65536	2010-01-01 00:00:00+00	0	2026-11-01 13:00:00+00	2026-11-01 13:00:00+00	2026-11-01 12:00:00+00	f	3118332851523
-8538063742739324740	7711535956087244611	1	16386	105	0	65535	65536	2010-01-01 00:00:00+00	0	2026-11-01 13:00:00+00	2026-11-01 13:00:00+00	2026-11-01 12:00:00+00	f	3118332851523
-8538063742739324740	7711535956087244611	1	16386	106	0	65535	65536	2010-01-01 00:00:00+00	0	2026-11-01 13:00:00+00	2026-11-01 13:00:00+00	2026-11-01 12:00:00+00	f	3118332851523
-8538063742739324740	7711535956087244611	1	16386	107	0	65535	65536	2010-01-01 00:00:00+00	0	2026-11-01 13:00:00+00	2026-11-01 13:00:00+00	2026-11-01 12:00:00+00	f	3118332851523
-8538063742739324740	7711535956087244611	1	16386	100	0	65535	0	2010-01-01 00:00:00+00	1	2079-09-07 15:47:35.548+00	2079-09-07 15:47:35.548+00	2026-11-01 12:00:00+00	f	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65536	5	5	8	2026-11-01 12:00:00+00	0	2026-11-01 13:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65635	3	3	10	2026-11-01 12:00:00+00	0	2026-11-01 12:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65550	281474976710000	281474976710000	8	2026-11-01 12:00:00+00	0	2026-11-01 12:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65551	9	9	8	2026-11-01 12:00:00+00	0	2026-11-01 12:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	60000	0	65535	5	2026-11-01 12:00:00+00	0	2026-11-01 13:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	60001	100	999	105	2026-11-01 12:00:00+00	0	2026-11-01 12:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	60002	0	65535	5	2026-11-01 12:00:00+00	0	2026-11-01 12:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65536	8	9	5	2026-11-01 12:00:00+00	0	2026-11-01 12:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65636	278351963537708	278351963537708	5	2010-01-01 00:00:00.004+00	0	2010-01-01 00:00:00.004+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65553	249100662055540	249100662055540	5	2010-01-01 00:00:00.004+00	0	2010-01-01 00:00:00.012+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65553	109655818039318	109655818039318	5	2010-01-01 00:00:00.004+00	0	2010-01-01 00:00:00.004+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65552	63987560372733	63987560372733	5	2010-01-01 00:00:00.004+00	0	2010-01-01 00:00:00.004+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
-8538063742739324740	7711535956087244611	1	16386	65547	1	1	5	2026-11-01 12:00:00+00	0	2026-11-01 12:00:00+00	2010-01-01 00:00:00+00	2026-11-01 12:00:00+00	t	3118332851523
\.

--
-- Data for Name: sno_prefix; Type: TABLE DATA; Schema: sno_catalog; Owner: postgres
--

COPY sno_catalog.sno_prefix (meta, prefix) FROM stdin;
1	person
\.

--
-- Name: log log_pkey; Type: CONSTRAINT; Schema: public; Owner: regress_owner
--

ALTER TABLE ONLY public.log
    ADD CONSTRAINT log_pkey PRIMARY KEY (id);

--
-- Name: message message_pkey; Type: CONSTRAINT; Schema: public; Owner: regress_owner
--

ALTER TABLE ONLY public.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (id);

--
-- Name: person person_pkey; Type: CONSTRAINT; Schema: public; Owner: regress_owner
--

ALTER TABLE ONLY public.person
    ADD CONSTRAINT person_pkey PRIMARY KEY (id);

--
-- Name: visit visit_pkey; Type: CONSTRAINT; Schema: public; Owner: regress_owner
--

ALTER TABLE ONLY public.visit
    ADD CONSTRAINT visit_pkey PRIMARY KEY (id);

--
-- Name: visit_at; Type: INDEX; Schema: public; Owner: regress_owner
--

CREATE INDEX visit_at ON public.visit USING btree (ids.sno_flake_timestamp(id, 'ours'::text));

--
-- PostgreSQL database dump complete
--

