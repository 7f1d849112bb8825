SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -ec
.DEFAULT_GOAL := help

GO       ?= go
FUZZTIME ?= 20s
BENCH    ?= .

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := bin/golangci-lint-$(GOLANGCI_VERSION)

# Folders of the packages that have tests of a kind.
having = $(sort $(patsubst %/,./%,$(dir $(shell grep -rl --include='*_test.go' '^func $(1)' *))))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: ## tests of every package with the race detector; prints what was skipped and why
	$(GO) test -race -timeout 28m -v ./... | awk -f .ci/testsummary.awk

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

.PHONY: e2e-ssh
e2e-ssh: ## SSH library and kubeadm driver over real OpenSSH servers (Linux, root, packages in CONTRIBUTING.md)
	$(AS_ROOT) VNFKIT_E2E=ssh $(GO) test -count=1 -timeout 20m -v ./internal/e2e/...

.PHONY: e2e-openstack
e2e-openstack: ## infra/openstack on a real OpenStack (Linux, root, packages in CONTRIBUTING.md)
	$(AS_ROOT) VNFKIT_E2E=openstack $(GO) test -count=1 -timeout 20m -v ./internal/e2e/...

.PHONY: e2e-kubeadm
e2e-kubeadm: kubernetes ## mgmt/kubeadm on real machines and clusters (Linux, root, packages in CONTRIBUTING.md)
	$(AS_ROOT) VNFKIT_E2E=kubeadm $(GO) test -count=1 -timeout 30m -v ./internal/e2e/...

.PHONY: e2e-registry
e2e-registry: kubernetes ## mgmt/registry: real registries, and machines and a cluster that use them (as e2e-kubeadm)
	$(AS_ROOT) VNFKIT_E2E=registry $(GO) test -count=1 -timeout 20m -v ./internal/e2e/...

.PHONY: e2e-helm
e2e-helm: kubernetes ## Helm and CNFs on a real control plane whose nodes kwok plays (Linux, root, packages in CONTRIBUTING.md)
	$(AS_ROOT) VNFKIT_E2E=helm $(GO) test -count=1 -timeout 20m -v ./internal/e2e/...

.PHONY: e2e-all
e2e-all: kubernetes ## a cluster VNF, a registry VNF, and a CNF on the one with its image in the other (as e2e-kubeadm; also on OpenStack where that is installed)
	$(AS_ROOT) VNFKIT_E2E=all $(GO) test -count=1 -timeout 20m -v ./internal/e2e/...

.PHONY: e2e-kubespray
e2e-kubespray: kubernetes ## mgmt/kubespray and mgmt/loadbalancer with real Ansible and haproxy on the machines of e2e-kubeadm
	$(AS_ROOT) VNFKIT_E2E=kubespray $(GO) test -count=1 -timeout 20m -v ./internal/e2e/...

.PHONY: kubernetes
kubernetes: ## build what e2e-kubeadm, -registry, -helm and -kubespray need, once: Kubernetes, images, Debian trees (10 minutes, 5 GB)
	$(AS_ROOT) bash internal/e2e/kube/build.sh

.PHONY: bench
bench: ## benchmarks; BENCH selects by name; as root with VNFKIT_E2E=ssh also those over real hosts
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(call having,Benchmark)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 20s)
	@failed=0; while read -r dir name; do \
		echo "== $$dir $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$dir" </dev/null || failed=1; \
	done < <(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' * | sed 's|/[^/]*:func | |' | sort -u); exit $$failed
