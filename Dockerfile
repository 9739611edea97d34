# The official image of PostgreSQL with the extension:
#
#   docker build --build-arg PG_MAJOR=18 --tag postgres-sno .
#   docker run --env POSTGRES_PASSWORD=secret --detach postgres-sno
#
# Then CREATE EXTENSION sno in each database that shall have it.

ARG PG_MAJOR=18
FROM postgres:${PG_MAJOR} AS build

RUN apt-get update && \
    apt-get install -y --no-install-recommends \
        gcc libc6-dev libpq-dev libssl-dev make "postgresql-server-dev-$PG_MAJOR" && \
    rm -rf /var/lib/apt/lists/*
COPY Makefile README.md *.control /sno/
COPY doc /sno/doc
COPY sql /sno/sql
COPY src /sno/src
RUN make -C /sno clean && \
    make -C /sno -j "$(nproc)" with_llvm=no && \
    make -C /sno install with_llvm=no DESTDIR=/installed

FROM postgres:${PG_MAJOR}
COPY --from=build /installed/ /
