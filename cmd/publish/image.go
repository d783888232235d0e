package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	passwd        = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"
	materialsType = "application/vnd.cyclonedx+json"
	imageKey      = "org.opencontainers.image."
)

// image writes an index of one image for each program on Linux. The index holds a bill of
// materials for each image as well, which refers to the image as OCI referrers do. It
// returns the digest of the index.
func (s *source) image(dir string, programs []program) (string, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return "", err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		if p.os != "linux" {
			continue
		}
		image, err := s.build(p)
		if err != nil {
			return "", err
		}
		subject, err := partial.Descriptor(image)
		if err != nil {
			return "", err
		}
		bill := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), materialsType)
		if bill, err = mutate.AppendLayers(bill, static.NewLayer(p.materials, materialsType)); err != nil {
			return "", err
		}
		platform, none := &v1.Platform{OS: p.os, Architecture: p.arch}, &v1.Platform{OS: "unknown", Architecture: "unknown"}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}},
			mutate.IndexAddendum{Add: mutate.Subject(bill, *subject).(v1.Image), Descriptor: v1.Descriptor{Platform: none}})
	}
	index = mutate.Annotations(index, s.annotations()).(v1.ImageIndex)
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{imageKey + "ref.name": strings.ReplaceAll(s.version, "+", "-")})); err != nil {
		return "", err
	}
	digest, err := index.Digest()
	return digest.String(), err
}

// build returns the image of one platform: the base, and the program.
func (s *source) build(p program) (v1.Image, error) {
	base := []file{
		{name: "etc/passwd", data: []byte(passwd)},
		{name: "etc/ssl/certs/ca-certificates.crt", data: certificates()},
		{name: "tmp/", mode: 0o1777},
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		OS: p.os, Architecture: p.arch, Created: v1.Time{Time: s.date}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:       "65532:65532", // by number, for clusters that demand runAsNonRoot
			Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Entrypoint: []string{"/usr/local/bin/nodepools"}, Cmd: []string{"run"}, WorkingDir: "/", Labels: s.annotations(),
		},
	})
	if err != nil {
		return nil, err
	}
	for _, files := range [][]file{base, {{name: "usr/local/bin/nodepools", mode: 0o755, data: p.executable}}} {
		// The times are 0, so that the layer of the base stays the same from version to version.
		content, err := archive(files, time.Unix(0, 0))
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	return mutate.Annotations(image, s.annotations()).(v1.Image), nil
}

func (s *source) annotations() map[string]string {
	return map[string]string{
		imageKey + "title": "nodepools", imageKey + "description": "GitOps for Kubernetes node pools",
		imageKey + "source": "https://github.com/nodepools/nodepools", imageKey + "licenses": "Apache-2.0",
		imageKey + "version": s.version, imageKey + "revision": s.commit, imageKey + "created": s.date.Format(time.RFC3339),
	}
}

// certificates returns the authorities that Mozilla trusts without a condition, which a
// file cannot express.
func certificates() []byte {
	var buffer bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&buffer, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return buffer.Bytes()
}
