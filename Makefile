# Go, git and make are enough: everything else is downloaded, or built from Go modules.
CONTROLLER_GEN = sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOLANGCI_LINT  = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GO            ?= go

# The user's own flags are for other modules. Without paths, clones share the build cache.
export GOFLAGS := -mod=readonly -buildvcs=false -trimpath
export GOWORK  := off

# Recipes read names as "$$VERSION": a shell must not run a tag's name.
DIRTY := $(if $(shell git status --porcelain 2>/dev/null | head -n 1),-dirty)
ifndef VERSION
VERSION := $(shell git describe --tags --always 2>/dev/null || echo dev)$(DIRTY)
endif
COMMIT     := $(addsuffix $(DIRTY),$(shell git rev-parse --verify --quiet HEAD 2>/dev/null))
REPOSITORY ?= ghcr.io/nodepools/nodepools
export GO VERSION COMMIT REPOSITORY IMAGE

# ./... passes over testdata.
PACKAGES = ./... $(addprefix ./,$(filter-out $(dir $(wildcard testdata/*/go.mod)),$(sort $(dir $(wildcard testdata/*/*.go)))))
MODULE   = github.com/nodepools/nodepools
MODULES  = testdata/controlplane cmd/bench cmd/publish
RACE     = $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo -race)

.PHONY: help build demo test test-all matrix stress fuzz bench availability lint generate verify golden
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/nodepools
	$(GO) build -buildvcs=$$(git rev-parse -q --verify HEAD >/dev/null 2>&1 && echo auto || echo false) -ldflags "-X main.version=$$VERSION" -o bin/nodepools ./cmd/nodepools

demo: build controlplane ## watch a commit change a cluster; DEMO_STEP=1 step by step
	@$(GO) build -o bin/demo ./cmd/demo && bin/demo

# Packages that start no control plane come first: a failure shows early.
CLUSTERS = $(shell grep -rl 'testdata/cluster"' --include='*_test.go' . | xargs -n1 dirname | sort -u)
FIRST    = $(filter-out $(CLUSTERS:./%=$(MODULE)/%),$(shell $(GO) list $(PACKAGES)))

test: controlplane ## the tests for every change, at most 10 minutes on 2 cores
	$(GO) test -short $(FIRST)
	$(GO) test -short -count=1 -timeout 20m $(CLUSTERS)

test-all: controlplane browser helm ## every test, with the race detector, before a release
	$(GO) test $(RACE) -count=1 -timeout 60m $(PACKAGES)
	@for module in $(MODULES); do $(GO) test -C $$module -count=1 -timeout 60m ./... || exit 1; done

VERSIONS ?= v1.37.1 v1.36.3 v1.35.4 v1.34.4 v1.33.13 v1.32.9 v1.31.13 v1.30.14
MATRIX = ^Test(ClusterScripts|ShippedRights|ChartInACluster|ViewerMay|TheAPIServerTakes|APIServer|LifeOfAPool|ForeignKeys|ConflictPolicies|NoNodeIsEver|RuntimeClass|GitLifeOfAPool|AKubelet|WhoMayWrite)
matrix: helm ## run what depends on the version on each Kubernetes (VERSIONS="v1.33.13 v1.30.14")
	@for version in $(VERSIONS); do echo "Kubernetes $$version"; \
		NODEPOOLS_KUBERNETES=$$version $(GO) test -count=1 -timeout 60m -run '$(MATRIX)' ./apply/controller ./api/manifests/... ./cmd/nodepools ./examples || exit 1; done

stress: controlplane ## races, kills and random worlds, for hours
	$(GO) test $(RACE) -p 1 -count=1 -v -timeout 180m -run '^Test(Race|Crash|Fault|AvailabilityOf|EvictionsKeep|SourcePasses|SteadyState|ImpactEqualsReality|DiffEqualsRunIn)' ./apply/controller ./apply/preview/impact ./cmd/nodepools -stress
	$(GO) test $(RACE) -count=1 -v -timeout 180m ./apply/plan/... ./api/window ./apply/preview/review/markdown -stress
	$(GO) test $(RACE) -count=1 -v -timeout 180m -run TurnsKeepEveryBudget ./apply/controller/fleet -worlds 10000

FUZZTIME ?= 2m
fuzz: ## each fuzz target for FUZZTIME (2m); a finding stays in testdata/fuzz
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do \
		grep -hoE '^func Fuzz[A-Za-z]+' $$dir/*_test.go | cut -c6- | while read -r target; do echo "$$dir $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s $$dir </dev/null || exit 1; done || exit 1; done

bench: build controlplane ## measure it on real control planes, for about an hour (BENCH="-rows join")
	@$(GO) build -C cmd/bench -o ../../bin/bench . && bin/bench $(BENCH)

availability: controlplane ## measure how long joining nodes wait while something fails
	$(GO) test -count=1 -v -timeout 90m -run '^TestAvailabilityOf' ./cmd/nodepools -figures

lint: ## check the code, and which package may import which
	$(GO) run $(GOLANGCI_LINT) run $(PACKAGES)
	@for module in $(MODULES); do (cd $$module && $(GO) run $(GOLANGCI_LINT) run) || exit 1; done

generate: ## write what follows from api: deep copies, CRDs, the chart and docs/api.md
	$(GO) run $(CONTROLLER_GEN) object paths=./api/... crd:crdVersions=v1 output:crd:dir=api/crds
	$(GO) run ./cmd/chart charts/nodepools
	$(GO) run ./cmd/apidoc docs/api.md

verify: ## check that generated code, go.mod and go.sum are up to date
	@new=$$(mktemp -d) && trap 'rm -rf "$$new"' EXIT && \
	$(GO) run $(CONTROLLER_GEN) object paths=./api/... crd:crdVersions=v1 output:object:dir="$$new/v1" output:crd:dir="$$new/crds" && \
	$(GO) run ./cmd/chart "$$new/chart" && $(GO) run ./cmd/apidoc "$$new/api.md" && diff -u api/v1/zz_generated.deepcopy.go "$$new/v1/zz_generated.deepcopy.go" && \
	diff -ru --exclude='*.go' api/crds "$$new/crds" && diff -ru charts/nodepools "$$new/chart" && diff -u docs/api.md "$$new/api.md" || { echo "run make generate" >&2; exit 1; }
	@for module in . $(MODULES); do $(GO) mod tidy -C $$module -diff || { echo "run go mod tidy in $$module" >&2; exit 1; }; done

golden: controlplane browser helm ## renew the golden files; read the diff
	$(GO) test $$(grep -rlE 'flag\.Bool(Var)?\(.*"update"' --include='*.go' --exclude-dir=bench . | xargs -n1 dirname | sort -u) -update

.PHONY: controlplane browser helm prometheus promtool kube-state-metrics gitea
controlplane: ## download or build the control plane; BUILD=1 downloads nothing
	@$(GO) run -C testdata/controlplane . $(if $(BUILD),-build) >/dev/null
browser: ## install the Chromium of tests, if there is none
	@sh testdata/browser/install.sh
helm prometheus promtool kube-state-metrics gitea: # see CONTRIBUTING.md
	@sh testdata/thirdparty/build.sh $@

PUBLISH = GOOS= GOARCH= $(GO) build -C cmd/publish -o ../../bin/publish . && bin/publish
BUILT   = -go "$$GO" -version "$$VERSION" -commit "$$COMMIT" -date "$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
.PHONY: image push release bundle docker-image
image: ## build the image for amd64 and arm64, without Docker, into bin/image
	@rm -rf bin/image && $(PUBLISH) image $(BUILT)
push: ## push bin/image (IMAGE=registry.example.com/nodepools:v1; INSECURE=1 without TLS)
	@GOOS= GOARCH= $(GO) build -C cmd/publish -o ../../bin/crane github.com/google/go-containerregistry/cmd/crane && bin/crane push$(if $(INSECURE), --insecure) bin/image "$$IMAGE"
release: ## build what a release publishes into bin/release (VERSION=v1.2.3)
	@rm -rf bin/image bin/release && $(PUBLISH) release $(BUILT) -repository "$$REPOSITORY"
bundle: ## write a bundle for OLM into bin/bundle (VERSION=v1.2.3 IMAGE=name:tag ROLLOUT=1)
	@$(GO) run ./cmd/bundle $(if $(ROLLOUT),-rollout) -version "$$VERSION" -image "$$IMAGE" bin/bundle
docker-image: ## build the same image with Docker (IMAGE=name:tag VERSION=v1.2.3)
	DOCKER_BUILDKIT=1 docker build --build-arg VERSION="$$VERSION" --build-arg COMMIT="$$COMMIT" -t "$${IMAGE:-nodepools:$$VERSION}" .
