SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := help

GO       ?= go
FUZZTIME ?= 20s
SOAK     ?= 10m
BENCH    ?= .

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := bin/golangci-lint-$(GOLANGCI_VERSION)

# gotestsum prints a line for each package as it finishes, and at the end every failure and every skipped test.
GOTESTSUM_VERSION := v1.13.0
GOTESTSUM         := bin/gotestsum-$(GOTESTSUM_VERSION)

# Folders of the packages that have tests of a kind.
having = $(sort $(patsubst %/,./%,$(dir $(shell grep -rl --include='*_test.go' '^func $(1)' *))))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The packages that start goroutines and whose tests are cheap under the race detector. It slows tests on simulators and
# large transfers down five times, and what a raced package imports is compiled twice: drivers, sshexec and what is tested on
# a simulated cluster (mgmt/cluster, internal/helmversions, infra/kubernetes/internal) are under it in test-full only.
RACED := ./vnflcm/... ./mgmt/kubeadm/etcd ./helmclient/helmcli

# -race checks conversions of unsafe pointers too. In SQLite, which is translated from C, these checks take a sixth of the time of
# vnflcm's tests; there and in the standard library they are left out. The memory of some computations is not watched, none of
# which shares any with us: the shell of simulated hosts takes 7 % of the time of drivers' tests, reading and using keys a sixth,
# regular expressions, paths and more of cryptography 7 %. JSON schemas and the checks in the standard library take an eighth of
# the time of vnflcm's tests. They must not use sync/atomic: the detector would not see it, and report races that are none.
UNWATCHED := mvdan.cc/sh/v3/... golang.org/x/crypto/blowfish regexp path internal/filepathlite encoding/base64 \
	go.yaml.in/yaml/v2 gopkg.in/yaml.v3 github.com/santhosh-tekuri/jsonschema/v6/... \
	$(addprefix crypto/internal/fips140/,edwards25519/... mlkem sha256 hmac bigmod aes/...)

# To watch JSON takes a fifth of the time of vnflcm's tests and a sixth of that of drivers' tests. It reads and writes our structs and
# maps through reflect, which is watched, as sync is, unless it is inlined: hence -l. Only texts, which are slices of bytes, are not.
UNWATCHED_JSON := encoding/json sigs.k8s.io/json/...

RACE := -race -gcflags=std=-d=checkptr=0 -gcflags=modernc.org/sqlite/...=-d=checkptr=0 $(UNWATCHED:%=-gcflags=%=-race=false) \
	$(UNWATCHED_JSON:%=-gcflags="%=-race=false -l")

# Binaries have no debugging information, and our packages are compiled without it, which takes a sixth less, and without inlining,
# which takes a seventh less from the time to build all tests and does not slow them down. Of the packages that are linked, plugin
# (of Helm) would have Go call ld, which takes twice the time and memory. The garbage collector takes a tenth of the time of tests:
# it may use more memory. make lint vets.
TESTFLAGS := -count=1 -ldflags="-s -linkmode=internal" -vet=off -gcflags="github.com/vnfkit/vnfkit/...=-dwarf=false -l" -exec "env GOGC=250"

# A process under the race detector ends with a pause of one second unless told otherwise.
export GORACE ?= atexit_sleep_ms=20

# The packages whose tests take longest begin first, so that none of them runs alone at the end.
LONGEST := ./sshexec ./mgmt/kubeadm ./mgmt/kubespray ./infra/kubernetes ./mgmt/kubespray/ansible ./examples/quickstart

# A test program that links Helm takes four CPU seconds and 400 MB to link. infra/kubernetes runs Helm in the process, with its
# contract tests, in each make test; these packages run in test-full only.
HELM := /helmclient/helm4?sdk$$|/internal/(helmversions|guides|soak|cnftest)$$|/examples/cnf-helm$$

# The packages that are not in $(RACED), nor those of tests with real parts, which only skip: make lint compiles them.
unraced = $(LONGEST) $$(comm -23 <($(GO) list ./... | grep -vE "/internal/e2e|$(HELM)" | sort) <($(GO) list $(RACED) $(LONGEST) | sort))

# Events of two go commands go into one pipe, a line at a time. What runs in the background is in braces: wait for a bare pipeline that
# has ended returns the status of its last command, in spite of pipefail.
lines = grep --line-buffered .

# Both halves run side by side: many tests wait. On a machine at half the speed, mgmt/kubeadm takes half of the ten minutes that go test
# would give it.
.PHONY: test
test: $(GOTESTSUM) ## tests of every package in a few minutes; lists what was skipped and why
	$(GOTESTSUM) --format pkgname --raw-command -- bash -o pipefail -c ' \
		code=0; \
		{ $(GO) test -json -short -p 4 -parallel 4 $(TESTFLAGS) -timeout 20m $(unraced) | $(lines); } & plain=$$!; \
		{ $(GO) test -json -short -p 1 $(TESTFLAGS) $(RACE) -timeout 20m $(RACED) | $(lines); } & raced=$$!; \
		wait $$plain || code=1; \
		wait $$raced || code=1; \
		exit $$code'

# What a test of the crash matrices is called: it ends with the point at which the process dies.
crash_cases = grep '"Action":"pass"' $(1) | \
	grep -oE '"Package":"[^"]*","Test":"[^"]*(before_Do|inside_Do|before_the_journal|after_the_journal|journal_lost)[^/"]*"' | sort -u | wc -l

# The packages whose tests run on simulated machines, where the race detector takes six times the CPU time. Their whole crash
# matrices run without it, beside the other packages, and then all tests of make test with it. The longest begin first.
SIMULATED := ./mgmt/kubeadm ./mgmt/kubespray ./mgmt/kubespray/ansible ./infra/kubernetes ./examples/quickstart ./mgmt/... ./infra/kubernetes/... ./examples/...

.PHONY: test-full
test-full: $(GOTESTSUM) ## all tests, crash matrices whole; every package with the race detector; counts the crash cases (20 minutes on two CPUs)
	$(GOTESTSUM) --format pkgname --jsonfile-timing-events bin/test-full.json --raw-command -- bash -o pipefail -c ' \
		code=0; \
		{ $(GO) test -json -p 2 $(TESTFLAGS) -timeout 20m $(SIMULATED) | $(lines) || code=1; \
		  $(GO) test -json -short -p 3 $(TESTFLAGS) $(RACE) -timeout 20m $(SIMULATED) | $(lines) || code=1; \
		  exit $$code; } & drivers=$$!; \
		$(GO) test -json $(TESTFLAGS) $(RACE) -timeout 20m ./internal/soak ./vnflcm ./sshexec $$($(GO) list ./... | grep -vxF -f <($(GO) list $(SIMULATED))) | $(lines) || code=1; \
		wait $$drivers || code=1; \
		exit $$code'
	@echo "$$($(call crash_cases,bin/test-full.json)) crash cases: an operation, a step, and a point of the step"

# The crash matrices of the drivers, whole, with the race detector.
.PHONY: test-race
test-race: $(GOTESTSUM) ## all tests whole with the race detector (an hour)
	$(GOTESTSUM) --format pkgname -- $(TESTFLAGS) $(RACE) -timeout 60m ./...

$(GOTESTSUM):
	mkdir -p bin
	GOBIN=$(CURDIR)/bin $(GO) install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	mv bin/gotestsum $@

.PHONY: lint
lint: tidy linter ## go.mod, formatting, linters, import rules
	$(GOLANGCI) run ./...

.PHONY: tidy
tidy: ## fail if go.mod or go.sum is not tidy
	$(GO) mod tidy -diff

.PHONY: linter
linter: $(GOLANGCI) ## build golangci-lint into bin/

$(GOLANGCI):
	mkdir -p bin
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/golangci-lint $@

# The tests make network namespaces and sshd processes. Without root they go through sudo, with a build cache of
# root's own, so that nothing in the user's belongs to root afterwards.
AS_ROOT = $(if $(filter 0,$(shell id -u)),env,sudo -E env "PATH=$$PATH" GOCACHE=$(CURDIR)/bin/root-cache GOMODCACHE=$$($(GO) env GOMODCACHE))

# Prints what the tests print, and at the end every failure and every skipped test. The flags are those of make test, which has compiled
# the packages with them. RUN, a regular expression, chooses tests of a part in internal/e2e.
E2E = $(GOTESTSUM) --format standard-verbose -- $(TESTFLAGS) $(if $(RUN),-run '$(RUN)')

.PHONY: e2e-ssh
e2e-ssh: $(GOTESTSUM) ## SSH library and kubeadm driver over real OpenSSH servers (Linux, root, packages in CONTRIBUTING.md)
	$(AS_ROOT) VNFKIT_E2E=ssh $(E2E) -timeout 20m ./internal/e2e/...

.PHONY: e2e-postgres
e2e-postgres: $(GOTESTSUM) ## vnflcm and examples/vnfm on a real PostgreSQL that the tests start (packages in CONTRIBUTING.md; no root)
	VNFKIT_E2E=postgres $(E2E) -timeout 4m ./vnflcm/sqlstore/postgres
	VNFKIT_E2E=postgres $(E2E) -timeout 4m -run 'Postgres|TestFleet' ./vnflcm
	VNFKIT_E2E=postgres $(E2E) -timeout 4m -run Postgres ./examples/vnfm

.PHONY: e2e-temporal
e2e-temporal: temporal $(GOTESTSUM) ## vnflcm/temporal and examples/vnfm on a real Temporal server and PostgreSQL (as e2e-postgres)
	VNFKIT_E2E=temporal,postgres $(E2E) -timeout 15m ./vnflcm/temporal
	VNFKIT_E2E=temporal,postgres $(E2E) -timeout 5m -run Temporal ./examples/vnfm

.PHONY: temporal
temporal: ## build the Temporal server that e2e-temporal needs, once (10 minutes, 190 MB)
	bash internal/temporaltest/build.sh

.PHONY: e2e-sol003
e2e-sol003: $(GOTESTSUM) ## examples/vnfm driven by OpenStack Tacker's client (packages in CONTRIBUTING.md; no root)
	VNFKIT_E2E=sol003 $(E2E) -timeout 5m -run TestTackerClient ./examples/vnfm

.PHONY: e2e-openstack
e2e-openstack: $(GOTESTSUM) ## infra/openstack on a real OpenStack (Linux, root, packages in CONTRIBUTING.md)
	$(AS_ROOT) VNFKIT_E2E=openstack $(E2E) -parallel 3 -timeout 40m ./internal/e2e/... # Heat waits most of the time

.PHONY: e2e-kubeadm
e2e-kubeadm: kubernetes $(GOTESTSUM) ## mgmt/kubeadm on real machines and clusters (Linux, root, packages in CONTRIBUTING.md)
	$(AS_ROOT) VNFKIT_E2E=kubeadm $(E2E) -timeout 30m ./internal/e2e/...

.PHONY: e2e-kubeadm-full
e2e-kubeadm-full: kubernetes $(GOTESTSUM) ## long scenarios of mgmt/kubeadm: node scripts, three control-plane nodes with Helm and on OpenStack (as e2e-all; not part of CI)
	$(AS_ROOT) VNFKIT_E2E=kubeadm-full $(E2E) -timeout 45m ./internal/e2e/...

.PHONY: e2e-registry
e2e-registry: kubernetes $(GOTESTSUM) ## mgmt/registry: real registries, and machines and a cluster that use them (as e2e-kubeadm)
	$(AS_ROOT) VNFKIT_E2E=registry $(E2E) -timeout 20m ./internal/e2e/...

.PHONY: e2e-helm
e2e-helm: kubernetes $(GOTESTSUM) ## Helm and CNFs on a real control plane whose nodes kwok plays (Linux, root, packages in CONTRIBUTING.md)
	$(AS_ROOT) VNFKIT_E2E=helm $(E2E) -parallel 4 -timeout 25m ./internal/e2e/... # the contract tests wait most of the time

.PHONY: e2e-all
e2e-all: kubernetes $(GOTESTSUM) ## a cluster VNF, a registry VNF, and a CNF on the one with its image in the other (as e2e-kubeadm; also on OpenStack where that is installed)
	$(AS_ROOT) VNFKIT_E2E=all $(E2E) -timeout 20m ./internal/e2e/...

.PHONY: e2e-tacker
e2e-tacker: kubernetes $(GOTESTSUM) ## mgmt/kubeadm inside Tacker on OpenStack (as e2e-all; VNFKIT_TACKER: root of a checkout, else Tacker is imitated)
	$(AS_ROOT) VNFKIT_E2E=tacker $(E2E) -timeout 20m ./internal/e2e/...

.PHONY: e2e-kubespray
e2e-kubespray: kubernetes $(GOTESTSUM) ## mgmt/kubespray and mgmt/loadbalancer with real Ansible and haproxy on the machines of e2e-kubeadm
	$(AS_ROOT) VNFKIT_E2E=kubespray $(E2E) -timeout 20m ./internal/e2e/...

.PHONY: e2e-kubespray-real
e2e-kubespray-real: kubernetes-kubespray $(GOTESTSUM) ## mgmt/kubespray with kubespray itself, offline (as e2e-kubespray; VNFKIT_KUBESPRAY: root of a checkout of v2.23.3; not part of CI)
	$(AS_ROOT) VNFKIT_E2E=kubespray-real $(E2E) -timeout 100m ./internal/e2e/...

.PHONY: kubernetes
kubernetes: ## build what e2e-kubeadm, -registry, -helm and -kubespray need, once: Kubernetes, images, Debian trees (26 minutes on two CPUs, 5 GB)
	$(AS_ROOT) bash internal/e2e/kube/build.sh
	$(AS_ROOT) bash internal/e2e/kube/helm4.sh
	$(AS_ROOT) bash internal/e2e/kube/nfs.sh

.PHONY: kubernetes-kubespray
kubernetes-kubespray: kubernetes ## build what e2e-kubespray-real needs beyond that, once: Kubernetes 1.27, what kubespray downloads (15 minutes, 2 GB)
	$(AS_ROOT) bash internal/e2e/kube/kubespray.sh

.PHONY: bench
bench: ## benchmarks; BENCH selects by name; as root with VNFKIT_E2E=ssh also those over real hosts
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(call having,Benchmark)

.PHONY: soak
soak: soak-lifecycles ## soak-lifecycles; all hostile texts in every parameter; 100 runs each of processes that are killed, stopped and given another clock; 200 kills of the quickstart
	VNFKIT_SOAK=$(SOAK) $(GO) test -count=1 -timeout 30m -run TestInjection ./internal/soak
	VNFKIT_PROCESS_RUNS=100 $(GO) test -count=1 -parallel 16 -timeout 30m -run TestProcesses ./vnflcm
	VNFKIT_KILLS=200 $(GO) test -count=1 -parallel 4 -timeout 30m -run TestKilledAtRandom ./examples/quickstart

.PHONY: soak-lifecycles
soak-lifecycles: $(GOTESTSUM) ## lifecycles disturbed at random, with the race detector, for SOAK (default 10m); a case that fails prints its VNFKIT_SEED
	VNFKIT_SOAK=$(SOAK) $(GOTESTSUM) --format standard-verbose -- $(TESTFLAGS) $(RACE) -timeout 0 -run TestSoak ./internal/soak

.PHONY: vulnerabilities
vulnerabilities: ## known vulnerabilities in what the packages call; needs the database of https://vuln.go.dev, or the one that GOVULNDB names
	$(GO) tool govulncheck $(if $(GOVULNDB),-db $(GOVULNDB)) ./...

# Linking takes one core and most of the time, so two packages are worked on at once.
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 20s)
	@mkdir -p bin; grep -rlo --include='*_test.go' '^func Fuzz' * | xargs -n1 dirname | sort -u | GO='$(GO)' FUZZTIME='$(FUZZTIME)' xargs -P2 -n1 .ci/fuzz
