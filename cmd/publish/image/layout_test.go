package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

func programs(content string) []Program {
	return []Program{
		{Platform: program.Platform{OS: "linux", Arch: "amd64"}, Executable: []byte(content + " amd64"), BOM: []byte(`{"bomFormat": "CycloneDX"}`)},
		{Platform: program.Platform{OS: "linux", Arch: "arm64"}, Executable: []byte(content + " arm64"), BOM: []byte(`{"bomFormat": "CycloneDX"}`)},
	}
}

var source = program.Source{Version: "v1.2.3+build", Commit: strings.Repeat("0", 40), Date: time.Unix(1767323045, 0).UTC()}

// An image replaces one, as a whole, and nothing else.
func TestWriteReplacesAnImage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bin", "image")
	first, err := Write(dir, source, programs("first"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Write(dir, source, programs("second"))
	if err != nil || first == second {
		t.Fatalf("%s, then %s, %v", first, second, err)
	}
	again, err := Write(filepath.Join(t.TempDir(), "image"), source, programs("second"))
	if err != nil || again != second {
		t.Errorf("the same is %s and %s, %v", second, again, err)
	}
	blobs, err := os.ReadDir(filepath.Join(dir, "blobs", "sha256"))
	// For two platforms: manifest, configuration, program and artifact; the index; the
	// base, the bill of materials and the empty configuration are the same for both.
	if err != nil || len(blobs) != 12 {
		t.Errorf("%d blobs, %v", len(blobs), err)
	}
	if around, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(around) != 1 {
		t.Errorf("%d left beside the image, %v", len(around)-1, err)
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(work, source, programs("first")); err == nil || !strings.Contains(err.Error(), "is no image: move it") {
		t.Errorf("a folder of something else: %v", err)
	}
	if _, err := os.Stat(filepath.Join(work, "notes.txt")); err != nil {
		t.Error(err)
	}
}

// The name within a layout is the version, as a tag can have it: there is no plus.
func TestLayoutNamesItsImage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	digest, err := Write(dir, source, programs("first"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	top, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, descriptor := range manifest.Manifests {
		if name := descriptor.Annotations["org.opencontainers.image.ref.name"]; name != "" {
			named++
			if name != "v1.2.3-build" || descriptor.Digest != digest {
				t.Errorf("%s is called %s", descriptor.Digest, name)
			}
		}
	}
	if named != 1 || len(manifest.Manifests) != 3 {
		t.Errorf("%d of %d are named, want 1 of 3", named, len(manifest.Manifests))
	}
	index, err := top.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}
