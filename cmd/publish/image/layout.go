// Package image puts the image of nodepools together, without an engine for containers,
// and writes it as an OCI image layout. Start with [Write].
package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// Program is what the image of one platform holds.
type Program struct {
	Platform   program.Platform
	Executable []byte
	// BOM is its bill of materials, as CycloneDX.
	BOM []byte
}

// Write replaces a folder with an OCI layout: an index of one image for each program,
// and for each image its bill of materials, as an artifact that refers to it. It returns
// the digest of the index, which is what a registry will call the image.
//
// What was in the folder stays until the new layout is complete.
func Write(dir string, s program.Source, programs []Program) (v1.Hash, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return v1.Hash{}, err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(dir), ".image-*")
	if err != nil {
		return v1.Hash{}, err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // moved away by then, unless there is an error, which is returned
	next := filepath.Join(scratch, "next")
	digest, err := write(next, s, programs)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("cannot write the image: %w", err)
	}
	return digest, replace(dir, next, filepath.Join(scratch, "previous"))
}

func replace(dir, next, previous string) error {
	if _, err := layout.FromPath(dir); err != nil {
		// Whatever it is that is there, it is not ours to delete.
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			return fmt.Errorf("%s is no image: move it out of the way", dir)
		}
	}
	if err := os.Rename(dir, previous); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(next, dir)
}

func write(dir string, s program.Source, programs []Program) (v1.Hash, error) {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var artifacts []v1.Descriptor
	for _, p := range programs {
		image, err := build(s, p.Platform, p.Executable)
		if err != nil {
			return v1.Hash{}, err
		}
		subject, err := partial.Descriptor(image)
		if err != nil {
			return v1.Hash{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.Platform.OS, Architecture: p.Platform.Arch}},
		})
		artifact, err := attach(path, s, *subject, p.BOM)
		if err != nil {
			return v1.Hash{}, err
		}
		artifacts = append(artifacts, artifact)
	}
	annotated, ok := mutate.Annotations(index, annotations(s)).(v1.ImageIndex)
	if !ok {
		return v1.Hash{}, errors.New("the index takes no annotations")
	}
	// The name is a tag, which cannot have a plus.
	name := layout.WithAnnotations(map[string]string{keyRefName: Tag(s.Version)})
	if err := path.AppendIndex(annotated, name); err != nil {
		return v1.Hash{}, err
	}
	for _, artifact := range artifacts {
		if err := path.AppendDescriptor(artifact); err != nil {
			return v1.Hash{}, err
		}
	}
	return annotated.Digest()
}
