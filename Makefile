# The common tasks of this project. `make` alone lists them.

PREFIX ?= /usr/local
STAGE := .build/stage

SWIFT_FILES := $(wildcard Package.swift Sources Tests Fuzz Benchmarks)
# The scripts that sh cannot parse are left out: mapdata and races are in Python, and deploy-check needs Bash.
SH_FILES := $(filter-out scripts/mapdata scripts/races scripts/deploy-check,$(wildcard scripts/* debian/unit debian/postinst debian/prerm debian/postrm deploy/quakes-setup))
BASH_FILES := .ci/run scripts/deploy-check $(wildcard Tests/Deployed/*.sh Tests/Deployed/images/*/entrypoint Tests/Deployed/images/*/start)
# The files that the release executable depends on. If they have not changed since `make build`, `sudo make install` only copies.
INPUTS := $(shell find Makefile $(wildcard Package.swift Sources migrations scripts/manual) -type f)

# Hides the caller's database from the tests. (Every environment variable is also a variable of make.)
WITHOUT_DATABASE := env $(addprefix -u,$(filter DATABASE_URL PG% QUAKES_%,$(.VARIABLES)))

.PHONY: help setup run test sanitize soak failover mirror fresh-check deploy-check bench fuzz docs build install deb format lint clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS='	' read -r name text; do \
		printf '  make %-11s %s\n' "$$name" "$$text"; done

setup: ## Install the packages that are missing (Debian, Ubuntu)
	@scripts/setup

run: ## Set up, build, import the earthquakes of the last day into a private database, and list them
	@scripts/run

test: setup ## Run all tests against a private PostgreSQL server; POSTGRES=15 to 18 sets its version; THOROUGH=1 runs more cases
	$(WITHOUT_DATABASE) POSTGRES=$(POSTGRES) THOROUGH=$(THOROUGH) scripts/test

sanitize: setup ## Run all tests under ThreadSanitizer and AddressSanitizer
	$(WITHOUT_DATABASE) scripts/sanitize

soak: setup ## Run all programs while faults are injected, for MINUTES=5; SEED= repeats the faults of an earlier run
	$(WITHOUT_DATABASE) scripts/faults soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

failover: ## Run all programs on a cluster whose machines fail, for MINUTES=10; ASYNC=1 replicates asynchronously (needs root)
	$(WITHOUT_DATABASE) scripts/faults failover $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ASYNC),--async --no-watchdog)

mirror: setup ## Run a mirror that is killed and cut off, and compare it with the original database
	$(WITHOUT_DATABASE) scripts/faults mirror

fresh-check: ## Run `make run` and `make test` as a newcomer does, in a minimal Debian (needs root and half an hour); SUITE=trixie
	scripts/fresh-check $(SUITE)

deploy-check: $(STAGE) ## Check the image, Compose, the Kubernetes files, the package and the proxies, or SECTION= (needs root and podman)
	scripts/deploy-check $(SECTION)

bench: ## Run all benchmarks, in comparison with well-known tools (takes one to two hours); JSON=1 prints JSON
	@scripts/bench $(if $(JSON),--json)

fuzz: ## Feed random bytes to the scanner and the decoder for a minute, or for SECONDS=
	@scripts/fuzz $(SECONDS)

docs: setup ## Write the data dictionary, and the query results in docs/reporting.md, from a database
	@scripts/docs

build: $(STAGE) ## Build the release executable, its shell completions and its manual page

# --static-swift-stdlib: the installed executable must not need the toolchain, which may be in a user's home folder.
$(STAGE): $(INPUTS)
	@scripts/setup
	rm -rf $@ $@.new
	mkdir -p $@.new
	swift build -c release --static-swift-stdlib --product quakes
	cp "$$(swift build -c release --static-swift-stdlib --show-bin-path)/quakes" $@.new/quakes
	$@.new/quakes --generate-completion-script bash > $@.new/quakes.bash
	$@.new/quakes --generate-completion-script zsh > $@.new/_quakes
	$@.new/quakes --generate-completion-script fish > $@.new/quakes.fish
	scripts/manual $@.new/quakes $@.new
	mv $@.new $@

install: $(STAGE) ## Install the executable and its manual under PREFIX=/usr/local; DESTDIR= is for packagers
	install -D -m 755 $(STAGE)/quakes "$(DESTDIR)$(PREFIX)/bin/quakes"
	install -D -m 644 $(STAGE)/quakes.1 "$(DESTDIR)$(PREFIX)/share/man/man1/quakes.1"
	install -D -m 644 $(STAGE)/quakes.bash "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/quakes"
	install -D -m 644 $(STAGE)/_quakes "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_quakes"
	install -D -m 644 $(STAGE)/quakes.fish "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/quakes.fish"

deb: $(STAGE) ## Make a Debian package of the release executable, in .build/deb
	scripts/deb

format: ## Format the Swift code
	swift format --in-place --recursive --parallel $(SWIFT_FILES)

lint: ## Check the Swift code, the shell scripts and the page's JavaScript for layout, style, types and plain words
	swift format lint --strict --recursive --parallel $(SWIFT_FILES)
	for script in $(SH_FILES); do sh -n "$$script" || exit 1; done
	for script in $(BASH_FILES); do bash -n "$$script" || exit 1; done
	if command -v shellcheck > /dev/null; then shellcheck $(SH_FILES) $(BASH_FILES); fi
	scripts/check-page
	scripts/prose

clean: ## Remove build products, but keep the downloaded dependencies, so that builds work offline
	swift package clean
	rm -rf $(STAGE) $(STAGE).new .build-thread .build-address
