# The image of the controller: one static program, no shell, not root.
#
#   docker build --build-arg VERSION=v1.2.3 -t registry.example.com/nodepools:v1.2.3 .
#
# Both base images are arguments, for those who mirror or pin them:
#   --build-arg BUILD_IMAGE=mirror.example.com/golang:1.26
#   --build-arg BASE_IMAGE=mirror.example.com/distroless/static@sha256:…
ARG BUILD_IMAGE=golang:1.26
ARG BASE_IMAGE=gcr.io/distroless/static-debian12:nonroot

# Compiled on the platform of the builder for the platform of the image, so that
# an image for another architecture needs no emulation.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src

# The modules are a layer of their own: they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download

COPY api api
COPY apply apply
COPY cmd cmd
COPY render render
COPY source source

ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /nodepools ./cmd/nodepools

FROM ${BASE_IMAGE}
COPY --from=build /nodepools /usr/local/bin/nodepools
# By number, so that a cluster that demands runAsNonRoot can see that it is.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/nodepools"]
CMD ["run"]
