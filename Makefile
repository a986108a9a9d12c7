# The habits of this project. `make` alone lists them.

PREFIX ?= /usr/local
STAGE := .build/stage

SWIFT_FILES := $(wildcard Package.swift Sources Tests Fuzz Benchmarks migrations)
SH_FILES := $(wildcard scripts/*)
# What the release executable is made of: `sudo make install` after `make build` only copies.
INPUTS := $(shell find Package.swift Sources migrations scripts/manual -type f)

# Tests never see the caller's database (make knows every environment variable as its own).
WITHOUT_DATABASE := env $(addprefix -u,$(filter DATABASE_URL PG% QUAKES_%,$(.VARIABLES)))

.PHONY: help setup run test bench fuzz docs build install format lint clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | while IFS='	' read -r name text; do \
		printf '  make %-8s %s\n' "$$name" "$$text"; done

setup: ## Check for the packages that are needed, install the missing ones (Debian, Ubuntu)
	@scripts/setup

run: ## Set up, build, import today's earthquakes into a private database, list them
	@scripts/run

test: setup ## Run all tests, against a private PostgreSQL server
	$(WITHOUT_DATABASE) scripts/test

bench: ## Measure loads, scanning, tracking, following, a long day and reports, each beside something public (an hour); JSON=1 for keeping
	@scripts/bench $(if $(JSON),--json)

fuzz: ## Feed the scanner and the decoder random bytes for a minute; SECONDS= says how long
	@scripts/fuzz $(SECONDS)

docs: setup ## Write the data dictionary from the database's comments, and the answers to the questions of docs/reporting.md
	@scripts/docs

build: $(STAGE) ## Make the release executable, its shell completions and manual page

# --static-swift-stdlib: what is installed runs without the toolchain, which may lie in a private home.
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

install: $(STAGE) ## Install what build made; DESTDIR= and PREFIX=/usr/local say where
	install -D -m 755 $(STAGE)/quakes "$(DESTDIR)$(PREFIX)/bin/quakes"
	install -D -m 644 $(STAGE)/quakes.1 "$(DESTDIR)$(PREFIX)/share/man/man1/quakes.1"
	install -D -m 644 $(STAGE)/quakes.bash "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/quakes"
	install -D -m 644 $(STAGE)/_quakes "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_quakes"
	install -D -m 644 $(STAGE)/quakes.fish "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/quakes.fish"

format: ## Lay out the Swift code as .swift-format says
	swift format --in-place --recursive --parallel $(SWIFT_FILES)

lint: ## Check layout and style of the Swift code and the shell scripts
	swift format lint --strict --recursive --parallel $(SWIFT_FILES)
	for script in $(SH_FILES); do sh -n "$$script" || exit 1; done
	bash -n .ci/run
	if command -v shellcheck > /dev/null; then shellcheck $(SH_FILES) .ci/run; fi

clean: ## Remove what was built; the downloaded dependencies stay, for building offline
	swift package clean
	rm -rf $(STAGE) $(STAGE).new
