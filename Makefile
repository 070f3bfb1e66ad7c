# Tandem: build, run, check. `make` alone lists the targets.

CARGO ?= cargo
PREFIX ?= /usr/local
DESTDIR ?=

CACHE := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/tandem
TOOLS := $(CACHE)/tools
OUT := out

# What `make run` shows.
WORKLOAD ?= forkjoin
MACHINE ?= hikey960
PAIRS ?= fair+performance fair+schedutil fair+powersave
TRACED ?= fair+schedutil
# How long `make fuzz` runs each target, or how many inputs it feeds to each; and which (all).
FUZZ_SECONDS ?= 600
RUNS ?=
TARGETS ?=
# How long `make soak` takes.
SOAK_CYCLES ?= 1000
SOAK_SECONDS ?= 900
# How often `make chaos` kills, together with what was done before.
ROUNDS ?= 1000
TRACE ?= $(OUT)/$(notdir $(basename $(WORKLOAD))).pftrace

# Where `make objects` puts the kernel's example schedulers.
OBJECTS ?= $(OUT)/schedulers

# A fresh clone in CI finds what an earlier one built.
ifeq ($(CI),true)
export CARGO_TARGET_DIR ?= $(CACHE)/target
endif
TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),$(or $(CARGO_BUILD_TARGET_DIR),target))
TANDEM := $(TARGET)/release/tandem

# cargo-deny: a version that builds with the project's oldest Rust, and reads today's database of weaknesses. With little
# optimisation it builds in half the time; it is run for seconds.
DENY_VERSION := 0.20.2
DENY_HOME := $(TOOLS)/cargo-deny-$(DENY_VERSION)
DENY := $(DENY_HOME)/bin/cargo-deny
DENY_PROFILE := CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

# cargo-fuzz, which wants a nightly compiler's flags; scripts/fuzz asks a stable one for them.
FUZZ_VERSION := 0.13.1
FUZZ_HOME := $(TOOLS)/cargo-fuzz-$(FUZZ_VERSION)
CARGO_FUZZ := $(FUZZ_HOME)/bin/cargo-fuzz

# mdBook, which makes a book of the guide; without what serves and watches it.
MDBOOK_VERSION := 0.5.4
MDBOOK_HOME := $(TOOLS)/mdbook-$(MDBOOK_VERSION)
MDBOOK := $(MDBOOK_HOME)/bin/mdbook

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  make run WORKLOAD=… MACHINE=… PAIRS='fair+schedutil …'   the same for another workload or machine"
	@echo "  make objects OBJECTS=…                                   into another folder than $(OUT)/schedulers"
	@echo "  make test GUEST=no                                       without what needs a test kernel; GUEST=quick: more of that"
	@echo "  make test PAGE=no                                        without a browser; make build PAGE=no: without node"
	@echo "  make test PYTHON=no                                      without those of the package for Python"
	@echo "  make install PREFIX=$$HOME/.local                         for one user, without root"

.PHONY: run
run: build ## Install what is missing, build, compare schedulers on an example and write a trace
	@mkdir -p $(OUT)
	"$(TANDEM)" compare "$(WORKLOAD)" --machine "$(MACHINE)" $(PAIRS:%=-s %)
	"$(TANDEM)" simulate "$(WORKLOAD)" --machine "$(MACHINE)" \
		--scheduler "$(TRACED)" --trace "$(TRACE)"
	@echo
	@echo "The schedule is in $(TRACE): open it at https://ui.perfetto.dev"

# The page of `tandem report`, whose script and style are made of crates/report/page with node and npm; PAGE=no leaves it out.
PAGE_HOME := crates/report/page
PAGE_MADE := $(PAGE_HOME)/dist/page.js
PAGE_SOURCES := $(PAGE_HOME)/package-lock.json $(PAGE_HOME)/build.mjs $(shell find $(PAGE_HOME)/src -type f)
PAGE_WANTED := $(if $(filter no,$(PAGE)),,$(PAGE_MADE))
.PHONY: page
page: $(PAGE_MADE) ## Make the page of `tandem report` from its sources, if they have changed

$(PAGE_MADE): $(PAGE_SOURCES)
	@sh scripts/requirements page
	@scripts/page

.PHONY: build
build: build-requirements $(PAGE_WANTED) ## Build the release binary
	$(CARGO) build --release --locked --bin tandem

.PHONY: wheel
wheel: build-requirements ## Build the wheel for Python into out/wheels
	@CARGO_TARGET_DIR="$(abspath $(TARGET))" scripts/wheel

.PHONY: reproduce
reproduce: build ## Run the papers' experiments and write docs/results.md, its numbers and its figures
	"$(TANDEM)" reproduce --fresh --sensitivity --write docs

.PHONY: figures
figures: build ## Draw the figures of docs/results/ anew, and write its pages, from the numbers of docs/results.json
	rm -f docs/results/*.svg docs/results/*.pdf
	"$(TANDEM)" reproduce --papers papers --from docs/results.json --write docs >/dev/null

.PHONY: objects
objects: ## Compile the kernel's example sched_ext schedulers, to run in the simulator
	@sh scripts/requirements objects
	@sh scripts/objects --schedulers "$(OBJECTS)"
	@echo "Show one: $(TANDEM) scheduler show $(OBJECTS)/scx_simple.bpf.o"

.PHONY: check
check: check-requirements ## Check while working: the format, and all tests that are quick
	@scripts/check-modules
	$(CARGO) fmt --all --check
	@CARGO="$(CARGO)" scripts/tests --quick

# What people see who open a report, in a browser; PAGE=no leaves it out. Then what users of Python see, on top of what `cargo test` has
# compiled; PYTHON=no leaves it out. Either where its sources have changed since, and in CI.
TESTS_OF := CARGO="$(CARGO)" CARGO_TARGET_DIR="$(abspath $(TARGET))" sh scripts/when-changed
TEST_PAGE := $(if $(filter no,$(PAGE)),true,$(TESTS_OF) page crates/report crates/ui crates/tandem/src/report crates/tandem/src/ui.rs \
	scripts/page scripts/page-tests -- scripts/page-tests)
TEST_PYTHON := $(if $(filter no,$(PYTHON)),true,$(TESTS_OF) python crates/python crates/experiments/src scripts/wheel scripts/python-tests \
	-- scripts/python-tests)

# Mechanisms work briefly then, and Tandem is loaded fewer times.
BRIEFLY := SECONDS_EACH=$(or $(SECONDS_EACH),4) KINDS=$(or $(KINDS),all) CYCLES=$(or $(CYCLES),20)

.PHONY: test
ifeq ($(GUEST),no)
test: check-requirements $(PAGE_WANTED)
	@CARGO="$(CARGO)" scripts/tests
	@$(TEST_PAGE)
	@$(TEST_PYTHON)
else
test: test-requirements $(PAGE_WANTED) ## Run every test without a guest, then load the scheduler into a test kernel, each mechanism in turn
	@CARGO="$(CARGO)" scripts/tests --build-kernel
	@$(TEST_PAGE)
	@$(TEST_PYTHON)
	CARGO="$(CARGO)" $(BRIEFLY) guest/test $(if $(filter quick,$(GUEST)),--quick $(WITHIN:%=--within %),mechanisms)
endif

.PHONY: test-kernel
test-kernel: test-requirements ## Run all tests in test kernels (QUICK=yes: without the long ones; WITHIN=600: begun within so many seconds)
	CARGO="$(CARGO)" $(if $(QUICK),$(BRIEFLY)) guest/test $(if $(QUICK),--quick) $(WITHIN:%=--within %)

# Hours, in the test kernel.
.PHONY: soak
soak: test-requirements ## All cases of tests, SOAK_CYCLES times loading and unloading, each mechanism for SOAK_SECONDS
	@CARGO="$(CARGO)" scripts/tests --soak
	CARGO="$(CARGO)" TIMEOUT=86400 CYCLES=$(SOAK_CYCLES) SECONDS_EACH=$(SOAK_SECONDS) guest/test mechanisms cycles

# Hours, too; it goes on where it stopped, in out/chaos.
.PHONY: chaos
chaos: test-requirements ## Kill Tandem at ROUNDS random moments in a test kernel, and see that the machine is given back
	CARGO="$(CARGO)" guest/chaos --rounds $(ROUNDS)

.PHONY: lint
lint: build-requirements $(DENY) ## Check format, lints, documentation, licences and known weaknesses
	@sh scripts/check-dependencies
	@sh scripts/check-words
	@scripts/check-modules
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --locked --quiet
	"$(DENY)" --locked check licenses bans sources
	@scripts/advisories "$(DENY)"

.PHONY: package
package: build-requirements $(PAGE_WANTED) ## Package the libraries, and compile each from its package alone
	@CARGO="$(CARGO)" CARGO_TARGET_DIR="$(abspath $(TARGET))" scripts/package

# Its build folder is removed: it takes hundreds of megabytes and is used once.
$(DENY): | build-requirements
	@echo "cargo-deny $(DENY_VERSION) is missing: building it into $(DENY_HOME) (a few minutes, once)"
	$(DENY_PROFILE) $(CARGO) install cargo-deny --version $(DENY_VERSION) --locked --no-default-features \
		--root "$(DENY_HOME)" --target-dir "$(DENY_HOME)/build"
	rm -rf "$(DENY_HOME)/build"

.PHONY: bench
bench: build ## Measure the simulator's speed
	$(CARGO) bench --workspace --locked
	"$(TANDEM)" bench
	scripts/count

# What `make judge-base` and `make judge-auto` judge, and which part and half of it; its own runs are kept in out/judge.
SCHEDULER ?= tandem,mode=none
PART ?=
HALF ?=
JUDGE_SEED ?= 2000
JOBS ?= 2

.PHONY: judge-base
judge-base: build-requirements ## Judge the scheduler without mechanisms against fair and scx_bpfland (QUICK=yes; PART=time; docs/base.md)
	$(CARGO) build --quiet --release --locked --package tandem-sched --example judge-base
	"$(TARGET)/release/examples/judge-base" --scheduler "$(SCHEDULER)" $(PART:%=--part %) $(HALF:%=--half %) \
		$(if $(filter yes,$(QUICK)),--quick) --judge-seed $(JUDGE_SEED) --jobs $(JOBS) \
		--published "$(TOOLS)/published" --objects "$(OBJECTS)" --store "$(OUT)/judge" $(if $(FRESH),--fresh)

# What has the modes.
MODES_OF ?= tandem

.PHONY: judge-auto
judge-auto: build-requirements ## Judge the modes against what distributions run, fair's governors and other schedulers (QUICK=yes; docs/modes.md)
	$(CARGO) build --quiet --release --locked --package tandem-sched --example judge-auto
	"$(TARGET)/release/examples/judge-auto" --scheduler "$(MODES_OF)" $(PART:%=--part %) $(HALF:%=--half %) \
		$(if $(filter yes,$(QUICK)),--quick) --judge-seed $(JUDGE_SEED) --jobs $(JOBS) \
		--published "$(TOOLS)/published" --store "$(OUT)/judge" $(if $(FRESH),--fresh)

# It needs two idle CPUs: what others do is in the times. With `guest/cost --count` it is not.
.PHONY: cost
cost: test-requirements ## Measure what schedulers cost in a test kernel
	CARGO="$(CARGO)" guest/cost

# Its own profile is fast and has all checks of debug builds. With SWARM_PROFILE=test it is what `make test` has compiled, linked once more:
# a test beside it gives the packages that both share the same features.
SWARM_PROFILE ?= swarm
.PHONY: swarm
swarm: test-requirements ## Look for mistakes of the simulator by random cases (SECONDS=120, SEED=, CASE= to try one again)
	@sh scripts/objects --swarm $(OUT)/swarm/objects
	$(CARGO) build --quiet --profile $(SWARM_PROFILE) --locked \
		$(if $(filter test,$(SWARM_PROFILE)),--workspace --bin tandem-swarm --test header,--package tandem-swarm)
	"$(TARGET)/$(patsubst test,debug,$(SWARM_PROFILE))/tandem-swarm" --objects $(OUT)/swarm/objects --seconds $(or $(SECONDS),120) \
		$(if $(SEED),--seed $(SEED)) $(if $(CASE),--case $(CASE))

# What was found before is kept and built upon: called again and again, this adds up (`scripts/fuzz --totals`).
.PHONY: fuzz
fuzz: test-requirements $(CARGO_FUZZ) ## Feed whatever reads foreign bytes with damaged ones (FUZZ_SECONDS=600 or RUNS=N each)
	sh scripts/objects
	PATH="$(FUZZ_HOME)/bin:$$PATH" CARGO="$(CARGO)" scripts/fuzz $(if $(RUNS),--runs $(RUNS),--seconds $(FUZZ_SECONDS)) $(TARGETS)

$(CARGO_FUZZ):
	@echo "cargo-fuzz $(FUZZ_VERSION) is missing: building it into $(FUZZ_HOME) (a few minutes, once)"
	$(DENY_PROFILE) $(CARGO) install cargo-fuzz --version $(FUZZ_VERSION) --locked \
		--root "$(FUZZ_HOME)" --target-dir "$(FUZZ_HOME)/build"
	rm -rf "$(FUZZ_HOME)/build"

# Where the shells of a system look for completions, manuals and units. Debian's zsh has a folder of its own for packages.
BINDIR ?= $(PREFIX)/bin
COMPLETIONS_BASH := $(PREFIX)/share/bash-completion/completions
COMPLETIONS_ZSH ?= $(PREFIX)/share/zsh/site-functions
COMPLETIONS_FISH := $(PREFIX)/share/fish/vendor_completions.d
UNITS := $(PREFIX)/lib/systemd/system
INTO := $(DESTDIR)$(PREFIX)

.PHONY: install
install: build install-built ## Install the command, its manual, completions, C header and systemd unit below DESTDIR/PREFIX (/usr/local)

# The same of a command that is there: INSTALLED=path. The packages of `make dist` have what this installs.
INSTALLED ?= $(TANDEM)
.PHONY: install-built
install-built:
	install -D -m 755 "$(INSTALLED)" "$(DESTDIR)$(BINDIR)/tandem"
	install -D -m 644 include/tandem.h "$(INTO)/include/tandem.h"
	install -d "$(INTO)/share/man/man1" "$(DESTDIR)$(COMPLETIONS_BASH)" "$(DESTDIR)$(COMPLETIONS_ZSH)" \
		"$(DESTDIR)$(COMPLETIONS_FISH)" "$(DESTDIR)$(UNITS)"
	rm -rf $(OUT)/man && "$(INSTALLED)" manual $(OUT)/man
	install -m 644 $(OUT)/man/* "$(INTO)/share/man/man1"
	"$(INSTALLED)" completions bash >"$(DESTDIR)$(COMPLETIONS_BASH)/tandem"
	"$(INSTALLED)" completions zsh >"$(DESTDIR)$(COMPLETIONS_ZSH)/_tandem"
	"$(INSTALLED)" completions fish >"$(DESTDIR)$(COMPLETIONS_FISH)/tandem.fish"
	sed 's|@BINDIR@|$(BINDIR)|' dist/tandem.service >"$(DESTDIR)$(UNITS)/tandem.service"

.PHONY: uninstall
uninstall: ## Remove what `make install` with the same DESTDIR and PREFIX has installed
	rm -f "$(DESTDIR)$(BINDIR)/tandem" "$(INTO)/include/tandem.h" "$(INTO)/share/man/man1/tandem.1" \
		"$(INTO)"/share/man/man1/tandem-*.1 "$(DESTDIR)$(COMPLETIONS_BASH)/tandem" "$(DESTDIR)$(COMPLETIONS_ZSH)/_tandem" \
		"$(DESTDIR)$(COMPLETIONS_FISH)/tandem.fish" "$(DESTDIR)$(UNITS)/tandem.service"

.PHONY: book
book: $(MDBOOK) ## Make the guide a searchable book in out/book, and check its links
	@MDBOOK="$(MDBOOK)" scripts/book

$(MDBOOK):
	@echo "mdBook $(MDBOOK_VERSION) is missing: building it into $(MDBOOK_HOME) (a few minutes, once)"
	$(DENY_PROFILE) $(CARGO) install mdbook --version $(MDBOOK_VERSION) --locked --no-default-features --features search \
		--root "$(MDBOOK_HOME)" --target-dir "$(MDBOOK_HOME)/build"
	rm -rf "$(MDBOOK_HOME)/build"

# Which of them, if not all: PARTS='portable deb'.
PARTS ?=
.PHONY: dist
dist: dist-requirements $(MDBOOK) ## Make the packages of a release in out/dist: portable, .deb, source, wheel, PKGBUILD, RPM spec
	@CARGO="$(CARGO)" CARGO_TARGET_DIR="$(abspath $(TARGET))" MDBOOK="$(MDBOOK)" scripts/dist $(PARTS)

.PHONY: test-dist
test-dist: dist-requirements ## Install and use each of the packages of `make dist` in clean systems
	@CARGO="$(CARGO)" CARGO_TARGET_DIR="$(abspath $(TARGET))" scripts/dist-tests

.PHONY: build-requirements check-requirements test-requirements dist-requirements
build-requirements:
	@sh scripts/requirements build "$(CARGO)"

check-requirements:
	@sh scripts/requirements check "$(CARGO)"

test-requirements:
	@sh scripts/requirements test "$(CARGO)"

dist-requirements:
	@sh scripts/requirements dist "$(CARGO)"

.PHONY: clean
clean: ## Remove what was built and written here
	$(CARGO) clean
	rm -rf $(OUT)
