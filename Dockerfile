# The image of the controller, for those who build images with Docker. make image builds
# one without Docker.
#
#   make docker-image IMAGE=registry.example.com/nodepools:v1.2.3
#
# The image of Go is an argument, for those who mirror or pin it:
#   --build-arg BUILD_IMAGE=mirror.example.com/golang:1.26
ARG BUILD_IMAGE=docker.io/library/golang:1.26

# Compiled on the platform of the builder for the platform of the image, so that
# an image for another architecture needs no emulation.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src

# The modules are a layer of their own: they change less often than the code.
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download

COPY api api
COPY apply apply
COPY cmd/nodepools cmd/nodepools
COPY render render
COPY source source

# There is no .git here: the commit is told.
ARG VERSION=dev
ARG COMMIT
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    mkdir -m 1777 /empty && \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -mod=readonly -trimpath -buildvcs=false \
      -ldflags "-s -w -X main.version=${VERSION} -X main.sourceCommit=${COMMIT}" -o /nodepools ./cmd/nodepools

FROM scratch
ARG VERSION=dev
ARG COMMIT
LABEL org.opencontainers.image.title="nodepools" \
      org.opencontainers.image.source="https://github.com/nodepools/nodepools" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /empty /tmp
COPY --from=build /nodepools /usr/local/bin/nodepools
# By number, so that a cluster that demands runAsNonRoot can see that it is.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/nodepools"]
CMD ["run"]
