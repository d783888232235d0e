package push

import (
	"io"
	"log"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
)

// Whoever pushes sees what: the folder may hold the image of another day.
func TestPushNamesTheOrigin(t *testing.T) {
	const dirty = "warning: it was built from a working tree that differs from its commit"
	for reason, c := range map[string]struct {
		annotations map[string]string
		says        string
		warns       bool
	}{
		"a release":          {map[string]string{versionKey: "v1.2.3", revisionKey: "0123"}, `pushing version "v1.2.3", of the commit "0123"`, false},
		"a working tree":     {map[string]string{versionKey: "v1.2.3", revisionKey: "0123-dirty"}, `of the commit "0123-dirty"`, true},
		"a dirty version":    {map[string]string{versionKey: "v1.2.3-dirty"}, `pushing version "v1.2.3-dirty", of a commit that is not known`, true},
		"of somebody else":   {nil, "pushing an image that does not name its version", false},
		"control characters": {map[string]string{versionKey: "\x1b[31m", revisionKey: "0"}, `pushing version "\x1b[31m"`, false},
	} {
		t.Run(reason, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "image")
			path, err := layout.Write(dir, empty.Index)
			if err != nil {
				t.Fatal(err)
			}
			index, err := random.Index(64, 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			if err := path.AppendIndex(mutate.Annotations(index, c.annotations).(v1.ImageIndex)); err != nil {
				t.Fatal(err)
			}
			host := serve(t, registry.New(registry.Logger(log.New(io.Discard, "", 0))).ServeHTTP)
			var said strings.Builder
			if _, err := Image(t.Context(), dir, host+"/n:v1", Options{Keychain: login{}, Log: &said}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), c.says) || strings.Contains(said.String(), dirty) != c.warns {
				t.Errorf("push says\n%swant %q, and a warning: %t", said.String(), c.says, c.warns)
			}
		})
	}
}
