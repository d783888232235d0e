# Go, git and make are all that is needed: everything else is downloaded, or built
# from Go modules. Bare make says what there is.

# The tools that are not part of the product, and their versions.
CONTROLLER_GEN = sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
GOLANGCI_LINT  = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

GO      ?= go

# What git and users name gets to commands by the environment, as "$$VERSION", and
# never by being written into them: a shell would run what stands in the name of a tag.
# $(value) takes what the environment has as it is, where $(VERSION) would expand it.

# A file that git does not know is compiled like any other: the working tree is dirty
# with it, which git describe --dirty would not say.
DIRTY := $(if $(shell git status --porcelain --untracked-files=all 2>/dev/null | head -n 1),-dirty)
ifeq ($(origin VERSION),undefined)
VERSION := $(shell git describe --tags --always 2>/dev/null || echo dev)$(DIRTY)
endif

# The whole commit, which an image is told, as it is built without git.
ifeq ($(origin COMMIT),undefined)
COMMIT := $(addsuffix $(DIRTY),$(shell git rev-parse --verify --quiet HEAD 2>/dev/null))
endif
build image release bundle docker-image: export VERSION := $(value VERSION)
image release docker-image: export COMMIT := $(value COMMIT)

# Where make push and make docker-image bring the image.
IMAGE ?=
push bundle docker-image: export IMAGE := $(value IMAGE)
# Where the image of a release is published: the manifests of a release name it.
REPOSITORY ?= ghcr.io/nodepools/nodepools
release: export REPOSITORY := $(value REPOSITORY)

# The user's own flags and workspace are about other modules. An empty GOFLAGS
# would let those of `go env -w` in. Without the paths of files, a clone or a worktree
# compiles only what differs from the last one: testing a fresh clone takes minutes less.
export GOFLAGS := -mod=readonly -buildvcs=false -trimpath
export GOWORK  := off

# ./... passes over folders called testdata. The Go packages in ours are meant,
# but not those that are a module of their own.
TESTDATA := $(addprefix ./,$(filter-out $(dir $(wildcard testdata/*/go.mod)),$(sort $(dir $(wildcard testdata/*/*.go)))))
PACKAGES := ./... $(TESTDATA)

MODULE = github.com/nodepools/nodepools

# What is a Go module of its own is tested and checked in its own folder.
MODULES = testdata/controlplane cmd/publish

# The commit is written into the program where git can tell it.
BUILDVCS = $(shell git rev-parse --verify --quiet HEAD >/dev/null 2>&1 && echo auto || echo false)

# The race detector needs a C compiler on most systems. Without one the tests
# run all the same.
RACE = $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo -race)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/nodepools
	$(GO) build -buildvcs=$(BUILDVCS) -ldflags "-X main.version=$$VERSION" -o bin/nodepools ./cmd/nodepools

.PHONY: demo
demo: build controlplane ## watch a commit change a cluster; DEMO_STEP=1 step by step
	@$(GO) build -o bin/demo ./cmd/demo
	@bin/demo

# Sizes of what make bench measures, and more of its flags: BENCH="-rows join".
NODES ?= 5000
POOLS ?= 100
BENCH ?=
bench: export NODES := $(value NODES)
bench: export POOLS := $(value POOLS)
bench: export BENCH := $(value BENCH)
.PHONY: bench
bench: build controlplane ## measure it on real control planes, for about an hour (NODES=5000 POOLS=100)
	@$(GO) build -o bin/bench ./cmd/bench
	@bin/bench -nodes "$$NODES" -pools "$$POOLS" $$BENCH

# Beside nothing else: what is measured are waits.
.PHONY: availability
availability: controlplane ## measure how long joining nodes wait while replicas or API servers fail, for half an hour
	$(GO) test -count=1 -v -timeout 90m -run '^TestAvailabilityOf' ./cmd/nodepools -figures

# Packages that compute, and start nothing beside themselves, as do their tests. The
# race detector could see nothing there, and takes five to ten times as long.
# TestOnlyWhatIsSequentialIsNotRaced holds what may stand here.
SEQUENTIAL = apply/preview/review/page apply/plan apply/preview/inventory render api/window \
	apply/preview/review/markdown apply/adopt apply/preview/review apply/preview/review/form \
	apply/preview/review/text api/sanitize render/report

# Their tests that use what is shared from many goroutines run with it, too.
CONCURRENT_IN = apply/plan render
CONCURRENT    = TestRecordMemo|TestAgreementIsWhatIsWorkedOutAnew

# Its tests run the program, which is built without the detector, and call nothing of it.
OUTSIDE = cmd/publish

# The two that take longest have control planes in two processes each. They do not run
# side by side, as each fills the processors of a small machine. One begins first, as does
# the slowest above, so that no processor is idle while it ends; the other one comes last,
# beside the modules.
FIRST = apply/controller
LAST  = cmd/nodepools

# -count=1, as a result from the cache says nothing of the control plane and the
# Git servers that a test talks to.
.PHONY: test
test: controlplane browser helm ## run every test, the long ones in a short form, with the race detector
	@[ -n "$(RACE)" ] || echo "no C compiler: the race detector stays off"
	$(GO) test -count=1 -timeout 45m $(SEQUENTIAL:%=./%)
	$(GO) test -count=1 -timeout 45m -run TurnsKeepEveryBudget ./apply/controller/fleet -worlds 1000
	$(GO) test $(RACE) -count=1 -timeout 45m -run '^($(CONCURRENT))$$' $(CONCURRENT_IN:%=./%)
	@all=$$($(GO) list ./$(FIRST) $(PACKAGES)) && \
		others=$$(echo "$$all" | grep -vxF $(SEQUENTIAL:%=-e $(MODULE)/%) -e $(MODULE)/$(LAST)) && set -x && \
		$(GO) test $(RACE) -count=1 -timeout 45m $$others
	@$(MAKE) --no-print-directory -j 2 test-last test-modules
	$(GO) run ./testdata/matrix -short $(RACE)

.PHONY: test-last
test-last:
	$(GO) test $(RACE) -count=1 -timeout 45m ./$(LAST)

# They compile most of the time, and take what processor time the other one leaves.
.PHONY: test-modules
test-modules:
	nice $(GO) test -C $(OUTSIDE) -count=1 -timeout 45m .
	@for module in $(MODULES); do (cd $$module && \
		others=$$($(GO) list ./... | grep -vxF $(MODULE)/$(OUTSIDE)) && set -x && \
		nice $(GO) test $(RACE) -count=1 -timeout 20m $$others) || exit 1; done

# Versions of Kubernetes to run, where it is not to be all: VERSIONS="v1.33.13 v1.30.14".
VERSIONS ?=
matrix: export VERSIONS := $(value VERSIONS)
.PHONY: matrix
matrix: helm ## run what depends on the version on each Kubernetes that is supported (VERSIONS="v1.33.13 v1.30.14")
	@$(GO) run ./testdata/matrix -update -versions "$$VERSIONS"

# Commits to upgrade from, where it is not to be all: COMMITS="ca10520 5a9c027". SAVE=1 has
# what their programs leave written for the tests, in place of the upgrade.
COMMITS ?=
SAVE    ?=
upgrades: export COMMITS := $(value COMMITS)
.PHONY: upgrades
upgrades: controlplane ## upgrade from each commit that changed a record or a CRD, and back (COMMITS="ca10520 5a9c027")
	@$(GO) run ./testdata/upgrades $(if $(filter-out 0 no false off,$(SAVE)),-save) -commits "$$COMMITS"

# Control planes wait for most of the time. With -j2 the random worlds are computed beside
# them, and give way.
.PHONY: stress stress-clusters stress-worlds
stress: stress-clusters stress-worlds ## race, kill and disturb the controller for hours

stress-clusters: controlplane
	$(GO) test $(RACE) -p 1 -count=1 -v -timeout 180m -run '^Test(Race|Crash|Fault|AvailabilityOf|EvictionsKeep|SourcePasses|SteadyState|ImpactEqualsReality|DiffEqualsRunIn|DiffForetells)' ./apply/controller ./apply/preview/impact ./cmd/nodepools -stress
	@# What counts bytes goes without the race detector, which has bytes of its own.
	$(GO) test -count=1 -v -timeout 60m -run '^TestWhatComesAndGoes' ./apply/controller -stress

stress-worlds:
	nice -n 19 $(GO) test $(RACE) -count=1 -v -timeout 180m -run 'Properties|MakesNoDifference|KeepsAWall|ThroughAWall|OwnershipOverHistories|ShortcutsDecide|UndoesAll|ScheduleIsWhatHappens|NoEditEvicts|NoRevisionEvicts' ./apply/plan -stress
	nice -n 19 $(GO) test $(RACE) -count=1 -v -timeout 60m -run TurnsKeepEveryBudget ./apply/controller/fleet -worlds 10000
	nice -n 19 $(GO) test -count=1 -v -timeout 60m -run EqualsBruteForce ./api/window -stress
	nice -n 19 $(GO) test -count=1 -v -timeout 60m -run FitOfClusters ./apply/preview/review/markdown -stress

# Targets are asked for, so that none is forgotten. Making an interesting input
# short may by default take a minute, in which nothing else is tried.
FUZZTIME ?= 2m
fuzz: export FUZZTIME := $(value FUZZTIME)
.PHONY: fuzz
fuzz: ## try what nobody would write, on each fuzz target for FUZZTIME (2m)
	@listed=$$($(GO) test -list '^Fuzz' $(PACKAGES)) || { echo "$$listed" >&2; exit 1; }; \
	echo "$$listed" | awk '/^Fuzz/ { targets[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, targets[i]; n = 0 }' | { \
		found=; \
		while read -r package target; do \
			echo "$$target of $$package, for $$FUZZTIME"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime "$$FUZZTIME" -fuzzminimizetime 5s "$$package" </dev/null || \
				found="$$found$$target: $$($(GO) list -f '{{.Dir}}' "$$package")/testdata/fuzz/$$target\n"; \
		done; \
		[ -z "$$found" ] || { printf "these have failed; a new entry of the corpus is in the folder; commit it with what mends it:\n$$found" >&2; exit 1; }; \
	}

.PHONY: lint
lint: ## check the code, and which package may import which
	$(GO) run $(GOLANGCI_LINT) run $(PACKAGES)
	@for module in $(MODULES); do (cd $$module && set -x && $(GO) run $(GOLANGCI_LINT) run) || exit 1; done

.PHONY: generate
generate: ## write the deep copies, the CRDs and the chart that follow from what is in api
	$(GO) run $(CONTROLLER_GEN) object paths=./api/... crd:crdVersions=v1 output:crd:dir=api/crds
	$(GO) run ./cmd/chart charts/nodepools

.PHONY: verify
verify: ## check that generated code and go.mod are up to date
	@new=$$(mktemp -d) && trap 'rm -rf "$$new"' EXIT && mkdir "$$new/v1" "$$new/crds" && \
	$(GO) run $(CONTROLLER_GEN) object paths=./api/... crd:crdVersions=v1 \
		output:object:dir="$$new/v1" output:crd:dir="$$new/crds" && \
	for file in v1/zz_generated.deepcopy.go $$(cd "$$new" && ls crds/*.yaml) $$(cd api && ls crds/*.yaml); do \
		diff -u "api/$$file" "$$new/$$file" || { echo "api/$$file is not what the types say; run make generate" >&2; exit 1; }; \
	done
	@new=$$(mktemp -d) && trap 'rm -rf "$$new"' EXIT && $(GO) run ./cmd/chart "$$new" && \
	diff -ru charts/nodepools "$$new" || { echo "charts/nodepools is not what api/manifests says; run make generate" >&2; exit 1; }
	@for module in . testdata/helm testdata/kubestatemetrics testdata/olm cmd/publish; do \
		$(GO) mod tidy -C $$module -diff || { echo "go.mod or go.sum in $$module is not tidy; run go mod tidy" >&2; exit 1; }; \
	done
	@echo "generated code, go.mod and go.sum are up to date"

.PHONY: golden
golden: controlplane browser helm ## renew the golden files; read the diff
	$(GO) test $$(grep -rlE 'flag\.Bool(Var)?\(.*"update"' --include='*.go' . | xargs -n1 dirname | sort -u) -update

# What builds and publishes image and release is a Go module of its own. It is built
# for this machine, whatever platform GOOS names.
PUBLISH = @GOOS= GOARCH= $(GO) build -C cmd/publish -o ../../bin/publish . && bin/publish

image release: export GO := $(value GO)
.PHONY: image
image: ## build the image for amd64 and arm64, without Docker, into bin/image
	$(PUBLISH) image -go "$$GO" -version "$$VERSION" -commit "$$COMMIT"

# Only who runs make says that a registry may be asked without TLS.
ifneq ($(origin INSECURE),command line)
INSECURE :=
endif
.PHONY: push
push: ## push bin/image to a registry (IMAGE=registry.example.com/nodepools:v1)
	$(PUBLISH) push -image "$$IMAGE"$(if $(filter-out 0 no false off,$(INSECURE)), -insecure)

.PHONY: release
release: ## build what a release publishes into bin/release (VERSION=v1.2.3)
	$(PUBLISH) release -go "$$GO" -version "$$VERSION" -commit "$$COMMIT" -repository "$$REPOSITORY"

# ROLLOUT=1 gives the controller of a bundle the rights to drain nodes.
ROLLOUT ?=
.PHONY: bundle
bundle: ## write a bundle for OLM into bin/bundle (VERSION=v1.2.3 IMAGE=name:tag ROLLOUT=1)
	@$(GO) run ./cmd/bundle $(if $(filter-out 0 no false off,$(ROLLOUT)),-rollout) -version "$$VERSION" -image "$$IMAGE" bin/bundle

.PHONY: docker-image
docker-image: ## build the same image with Docker (IMAGE=name:tag VERSION=v1.2.3)
	DOCKER_BUILDKIT=1 docker build --build-arg VERSION="$$VERSION" --build-arg COMMIT="$$COMMIT" -t "$${IMAGE:-nodepools:$$VERSION}" .

# BUILD=1 builds what could be downloaded, too, in place of what has been.
BUILD ?=
.PHONY: controlplane
controlplane: ## bring what tests and demo start, once; BUILD=1 downloads nothing
	@$(GO) run -C testdata/controlplane . $(if $(filter-out 0 no false off,$(BUILD)),-build) >/dev/null

.PHONY: helm
helm: ## build the Helm that tests install the chart with, once
	@$(GO) run ./testdata/thirdparty helm >/dev/null

.PHONY: statemetrics
statemetrics: ## build kube-state-metrics for its test, which is skipped without it, once
	@$(GO) run ./testdata/thirdparty kube-state-metrics >/dev/null

# The modules of the following two are not among those of make verify, which would download
# hundreds of others for each.
.PHONY: prometheus
prometheus: ## build Prometheus and promtool for their tests, which are skipped without, once
	@$(GO) run ./testdata/thirdparty prometheus >/dev/null
	@$(GO) run ./testdata/thirdparty promtool >/dev/null

.PHONY: gitea
gitea: ## build Gitea for its tests, which are skipped without it, once
	@$(GO) run ./testdata/thirdparty gitea >/dev/null

.PHONY: browser
browser: ## install the Chromium that tests look at pages with, if there is none
	@$(GO) run ./testdata/chromium >/dev/null
