SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := help

GO       ?= go
FUZZTIME ?= 20s
SOAK     ?= 10m
BENCH    ?= .

# Programs that the targets use. They are installed by version into bin/ and are not part of the module.
GOLANGCI    := bin/golangci-lint-v2.15.0
GOTESTSUM   := bin/gotestsum-v1.13.0
GOVULNCHECK := bin/govulncheck-v1.9.0

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9%-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# -p 4: many tests wait, so four packages at a time take less time on two cores than two. The two that take longest begin first.
.PHONY: test
test: $(GOTESTSUM) ## tests of every package, 15 minutes on two cores; lists the skipped tests with their reasons
	$(GOTESTSUM) --format pkgname -- -count=1 -p 4 -timeout 40m ./mgmt/kubeadm ./infra/kubernetes ./...

.PHONY: race
race: $(GOTESTSUM) ## the packages that start goroutines, under the race detector
	$(GOTESTSUM) --format pkgname -- -count=1 -race -p 4 -timeout 20m ./vnflcm/... ./sshexec/... ./helmclient/... ./infra/infratest ./infra/kubernetes/kubetest ./internal/fanout ./internal/retry ./mgmt/internal/plan ./mgmt/kubeadm/etcd

.PHONY: full
full: $(GOTESTSUM) ## whole matrices, then every package under the race detector (an hour and more)
	VNFKIT_FULL=1 $(GOTESTSUM) --format pkgname -- -count=1 -timeout 90m ./...
	$(GOTESTSUM) --format pkgname -- -count=1 -race -timeout 90m ./...

.PHONY: lint
lint: $(GOLANGCI) ## go.mod, formatting, linters, import rules
	$(GO) mod tidy -diff
	$(GOLANGCI) run ./...

# VERSION selects the version of Kubernetes of the targets kubernetes and e2e-%. By default it is the one of build.sh.
.PHONY: kubernetes
kubernetes: ## what real clusters with Kubernetes of VERSION are made from, beside what exists for other versions (Debian, as root)
	VNFKIT_KUBERNETES_VERSION=$(VERSION) .ci/part kubernetes

.PHONY: FORCE
e2e-%: $(GOTESTSUM) FORCE ## a real part, such as e2e-ssh: CONTRIBUTING.md lists the parts (Debian, some as root)
	GOTESTSUM=$(GOTESTSUM) VNFKIT_KUBERNETES_VERSION=$(VERSION) .ci/part $*

.PHONY: verify
verify: $(GOTESTSUM) ## every part, full, fuzz and soak, one after the other; skips what was green for this tree
	.ci/verify

.PHONY: bench
bench: ## benchmarks; BENCH selects by name; as root with VNFKIT_E2E=ssh also those over real hosts
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(sort $(dir $(shell grep -rl --include='*_test.go' '^func Benchmark' . )))

.PHONY: soak
soak: soak-lifecycles ## soak-lifecycles; hostile texts in every parameter; 100 runs of killed and stopped processes; 200 kills of the quickstart
	VNFKIT_SOAK=$(SOAK) $(GO) test -count=1 -timeout 60m -run TestInjection ./internal/soak
	VNFKIT_PROCESS_RUNS=100 $(GO) test -count=1 -parallel 16 -timeout 60m -run TestProcesses ./vnflcm
	VNFKIT_FULL=1 VNFKIT_KILLS=200 $(GO) test -count=1 -parallel 4 -timeout 60m -run TestKilledAtRandom ./examples/quickstart

.PHONY: soak-lifecycles
soak-lifecycles: $(GOTESTSUM) ## lifecycles disturbed at random, with the race detector, for SOAK (default 10m); a case that fails prints its VNFKIT_SEED
	VNFKIT_SOAK=$(SOAK) $(GOTESTSUM) --format standard-verbose -- -count=1 -race -timeout 0 -run TestSoak ./internal/soak

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 20s)
	@mkdir -p bin; grep -rlo --include='*_test.go' '^func Fuzz' * | xargs -n1 dirname | sort -u | GO='$(GO)' FUZZTIME='$(FUZZTIME)' xargs -P2 -n1 .ci/fuzz

.PHONY: vulnerabilities
vulnerabilities: $(GOVULNCHECK) ## known vulnerabilities in what the packages call; needs the database of https://vuln.go.dev, or the one that GOVULNDB names
	$(GOVULNCHECK) $(if $(GOVULNDB),-db $(GOVULNDB)) ./...

# install PACKAGE installs the program of the version that the target's name ends with.
install = mkdir -p bin; GOBIN=$(CURDIR)/bin $(GO) install $(1)@$(lastword $(subst -, ,$@)); mv bin/$(notdir $(1)) $@

$(GOLANGCI):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

$(GOTESTSUM):
	$(call install,gotest.tools/gotestsum)

$(GOVULNCHECK):
	$(call install,golang.org/x/vuln/cmd/govulncheck)
