ARG SWIFT_TAG=6.3-bookworm

FROM swift:${SWIFT_TAG} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libcurl4-openssl-dev libpq-dev libsqlite3-dev libssl-dev libxml2-dev pkg-config zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# The dependencies are a separate layer, so a change to the sources does not fetch them again. A release has a Package.resolved,
# which gives the version of each dependency (docs/operating.md). Without it, the build takes the newest compatible versions.
COPY Package.swift Package.resolve[d] ./
RUN swift package resolve
# Tests and benchmarks are not built, but SwiftPM requires their folders, because the manifest names them.
COPY migrations migrations
COPY Sources Sources
COPY Tests Tests
COPY Benchmarks/Speed/Association Benchmarks/Speed/Association
COPY Benchmarks/Speed/Scan Benchmarks/Speed/Scan
RUN swift build -c release --static-swift-stdlib --product quakes \
    && strip -o /usr/local/bin/quakes .build/release/quakes

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="quakes" \
    org.opencontainers.image.description="Imports earthquake feeds into PostgreSQL and lets readers follow what changed" \
    org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libcurl4 libpq5 libsqlite3-0 libssl3 libxml2 tzdata zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 quakes \
    && useradd --system --uid 10001 --gid quakes quakes \
    && install -d -o quakes -g quakes /var/lib/quakes
COPY --from=build /usr/local/bin/quakes /usr/local/bin/quakes
# The user is given by number, so that a platform that refuses root can see that it is not root.
USER 10001
ENTRYPOINT ["quakes"]
