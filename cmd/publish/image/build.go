package image

import (
	"bytes"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// searchPath is that of a shell that is not there; it lets kubectl exec name the program
// without its folder. Builders of Dockerfiles set the same.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// build returns the image of one platform.
func build(s program.Source, p program.Platform, executable []byte) (v1.Image, error) {
	base, err := layer(baseFiles())
	if err != nil {
		return nil, err
	}
	top, err := layer([]file{programFile(executable)})
	if err != nil {
		return nil, err
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: p.OS, Architecture: p.Arch, Created: v1.Time{Time: s.Date},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:       fmt.Sprintf("%d:%d", user, user),
			Entrypoint: []string{"/" + programPath},
			Cmd:        []string{"run"},
			Env:        []string{searchPath},
			WorkingDir: "/",
			Labels:     labels(s),
		},
	})
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: s.Date}
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: base, MediaType: types.OCILayer, History: v1.History{Created: created, CreatedBy: "make image", Comment: "certificates of authorities, users"}},
		mutate.Addendum{Layer: top, MediaType: types.OCILayer, History: v1.History{Created: created, CreatedBy: "make image", Comment: "nodepools " + s.Version}},
	)
	if err != nil {
		return nil, err
	}
	annotated, ok := mutate.Annotations(image, annotations(s)).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("the image of %s takes no annotations", p)
	}
	return annotated, nil
}

// layer compresses files once, whoever asks for its digest and its bytes.
func layer(files []file) (v1.Layer, error) {
	content, err := archive(files)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching,
	)
}
