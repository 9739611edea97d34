# PostgreSQL with sno, on PostgreSQL's official image:
#
#     docker build --build-arg PG_MAJOR=18 -t sno .
#
# Then CREATE EXTENSION sno in each database that uses it, CREATE EXTENSION sno_flakes for
# ids of other systems, CREATE EXTENSION sno_feeds for readers of feeds, and CREATE EXTENSION
# sno_seal where ids are sealed.

ARG PG_MAJOR=18

# The official image sets PG_MAJOR for what runs in it.
FROM postgres:${PG_MAJOR} AS build
RUN apt-get -o DPkg::Lock::Timeout=600 update && \
    apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends \
        gcc libc6-dev libpq-dev libssl-dev make "postgresql-server-dev-$PG_MAJOR" && \
    rm -rf /var/lib/apt/lists/*
COPY . /sno
RUN make -C /sno install DESTDIR=/installed \
        PG_CONFIG="/usr/lib/postgresql/$PG_MAJOR/bin/pg_config"

FROM postgres:${PG_MAJOR}
COPY --from=build /installed /
