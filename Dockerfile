# The image of the controller: one static program, no shell, not root.
#
#   make image IMAGE=registry.example.com/nodepools:v1.2.3
#
# or, without make, and with any builder that knows cache mounts:
#
#   docker build --build-arg VERSION=v1.2.3 --build-arg COMMIT=$(git rev-parse HEAD) \
#     -t registry.example.com/nodepools:v1.2.3 .
#
# Both base images are arguments, for those who mirror or pin them:
#   --build-arg BUILD_IMAGE=mirror.example.com/golang:1.26
#   --build-arg BASE_IMAGE=mirror.example.com/distroless/static@sha256:…
ARG BUILD_IMAGE=docker.io/library/golang:1.26
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

# Compiled on the platform of the builder for the platform of the image, so that
# an image for another architecture needs no emulation.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src

# The modules are a layer of their own: they change less often than the code.
# What Go downloads and compiles is kept by the builder, and is in no layer.
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download

COPY api api
COPY apply apply
COPY cmd cmd
COPY render render
COPY source source

# There is no .git here: the commit is told.
ARG VERSION=dev
ARG COMMIT
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags "-s -w -X main.version=${VERSION} -X main.sourceCommit=${COMMIT}" -o /nodepools ./cmd/nodepools

FROM ${BASE_IMAGE}
ARG BASE_IMAGE
ARG VERSION=dev
ARG COMMIT
LABEL org.opencontainers.image.title="nodepools" \
      org.opencontainers.image.description="GitOps for Kubernetes node pools" \
      org.opencontainers.image.source="https://github.com/nodepools/nodepools" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
COPY --from=build /nodepools /usr/local/bin/nodepools
# By number, so that a cluster that demands runAsNonRoot can see that it is.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/nodepools"]
CMD ["run"]
