CREATE EXTENSION sno_flakes CASCADE;
SELECT sno_flake_create_generator(name, 'snowflake') FROM (VALUES ('people'), ('letters')) AS generators (name);
CREATE TABLE people (
    id   bigint PRIMARY KEY DEFAULT sno_flake_generate('people'),
    name text NOT NULL);
CREATE TABLE letters (
    id        bigint PRIMARY KEY DEFAULT sno_flake_generate('letters'),
    person_id bigint NOT NULL REFERENCES people);
