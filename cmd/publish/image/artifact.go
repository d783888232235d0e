package image

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

const (
	// BOMType is the type of the artifact that holds a bill of materials, and of its
	// one layer.
	BOMType = "application/vnd.cyclonedx+json"
	// emptyType is that of a configuration where there is nothing to configure.
	emptyType types.MediaType = "application/vnd.oci.empty.v1+json"
)

// attach writes a bill of materials as an artifact that refers to the image that it is
// about: https://github.com/opencontainers/image-spec/blob/main/manifest.md#guidelines-for-artifact-usage.
func attach(path layout.Path, s program.Source, image v1.Descriptor, bom []byte) (v1.Descriptor, error) {
	config, err := blob(path, emptyType, []byte("{}"))
	if err != nil {
		return v1.Descriptor{}, err
	}
	content, err := blob(path, BOMType, bom)
	if err != nil {
		return v1.Descriptor{}, err
	}
	content.Annotations = map[string]string{keyTitle: "nodepools.cdx.json"}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2,
		MediaType:     types.OCIManifestSchema1,
		ArtifactType:  BOMType,
		Config:        config,
		Layers:        []v1.Descriptor{content},
		Subject:       &v1.Descriptor{MediaType: image.MediaType, Size: image.Size, Digest: image.Digest},
		Annotations:   annotations(s),
	})
	if err != nil {
		return v1.Descriptor{}, err
	}
	artifact, err := blob(path, types.OCIManifestSchema1, manifest)
	artifact.ArtifactType = BOMType
	return artifact, err
}

func blob(path layout.Path, mediaType types.MediaType, content []byte) (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		return v1.Descriptor{}, err
	}
	return v1.Descriptor{MediaType: mediaType, Digest: digest, Size: size},
		path.WriteBlob(digest, io.NopCloser(bytes.NewReader(content)))
}

// Tag returns a version as the tag of an image, which cannot have a plus.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "-") }
