# The image of the controller, for those who build images with Docker: the files are
# those that make image, which needs no Docker, puts into its own.
#
#   make docker-image IMAGE=registry.example.com/nodepools:v1.2.3
#
# or, without make, and with any builder that knows cache mounts:
#
#   docker build --build-arg VERSION=v1.2.3 --build-arg COMMIT=$(git rev-parse HEAD) \
#     -t registry.example.com/nodepools:v1.2.3 .
#
# The image of Go is an argument, for those who mirror or pin it:
#   --build-arg BUILD_IMAGE=mirror.example.com/golang:1.26
ARG BUILD_IMAGE=docker.io/library/golang:1.26

# Compiled on the platform of the builder for the platform of the image, so that
# an image for another architecture needs no emulation.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src

# The modules are a layer of their own: they change less often than the code.
# What Go downloads and compiles is kept by the builder, and is in no layer.
COPY go.mod go.sum ./
COPY cmd/publish/go.mod cmd/publish/go.sum cmd/publish/
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download && go mod download -C cmd/publish

COPY api api
COPY apply apply
COPY cmd cmd
COPY render render
COPY source source

# There is no .git here: the commit is told.
ARG VERSION=dev
ARG COMMIT
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -C cmd/publish -o /publish . && \
    /publish tree -version "${VERSION}" -commit "${COMMIT}" ${TARGETARCH:+-platforms linux/${TARGETARCH}} -output /tree

FROM scratch
ARG VERSION=dev
ARG COMMIT
LABEL org.opencontainers.image.title="nodepools" \
      org.opencontainers.image.description="GitOps for Kubernetes node pools" \
      org.opencontainers.image.source="https://github.com/nodepools/nodepools" \
      org.opencontainers.image.documentation="https://github.com/nodepools/nodepools#readme" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=build /tree/ /
WORKDIR /
# By number, so that a cluster that demands runAsNonRoot can see that it is.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/nodepools"]
CMD ["run"]
