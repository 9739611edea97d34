-- Make the extension sno_portable of pg_tle available in this database, for CREATE EXTENSION.
-- Run it in this directory, because psql reads the script there:
--
--     cd portable && psql -1 -v ON_ERROR_STOP=1 -f pg_tle.sql

\set script `cat sno_portable--0.9.sql`
SELECT pgtle.install_extension('sno_portable', '0.9', 'ids of sno, as uuids, without a library', :'script', '{plpgsql}');
