--
-- Characters of several bytes are counted and shown whole
--
SELECT getdatabaseencoding() <> 'UTF8' AS skip \gset
\if :skip
\quit
\endif
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

SET client_encoding = 'UTF8';
SELECT sno 'brpk4q72éwf2m63l';
SELECT sno 'é222222222222222';
SELECT sno '22222222222222€';
SELECT sno '222222222222222€';
SELECT sno '2222222222222é';
SELECT sno '2222222222222222é';
SELECT sno '😀222222222222222';
SELECT sno '２222222222222222';
SELECT sno 'ééééééééééééééé2';
SELECT sno 'éééééééé';

-- A zero byte cannot even be written, nor half a character.
SELECT E'brpk4q72\000wf2m63l'::sno;
SELECT E'brpk4q72\xc3wf2m63l'::sno;
