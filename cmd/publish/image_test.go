package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// The digest is what is built, and nothing of where and by whom.
func TestImageIsTheSameAnywhere(t *testing.T) {
	first := theImage(t)
	elsewhere := t.TempDir()
	copySource(t, elsewhere)
	dir := filepath.Join(t.TempDir(), "deep", "er")
	out := publish(t, elsewhere, []string{
		"TZ=Asia/Kathmandu", "LANG=C", "TMPDIR=" + t.TempDir(), "GOAMD64=v3", "GOARM64=v8.1", "GOOS=windows", "CGO_ENABLED=1",
		"GOFLAGS=-mod=mod -ldflags=-X=main.version=another -tags=another", "GOFIPS140=latest", "GOEXPERIMENT=nogreenteagc",
	}, "image", "-version", testVersion, "-commit", testCommit, "-output", dir)
	if got := strings.TrimSpace(out); got != first.digest {
		t.Errorf("the digests are %s and %s", first.digest, got)
	}
	if diff := cmp.Diff(hashes(t, first.dir), hashes(t, dir)); diff != "" {
		t.Errorf("the layouts differ in more than their digests:\n%s", diff)
	}
}

// hashes are those of the files in a folder.
func hashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		hash, _, err := v1.SHA256(file)
		name, _ := filepath.Rel(dir, path)
		all[name] = hash.Hex
		return err
	})
	if err != nil || len(all) < 8 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// images returns the index of a layout, and its images by platform.
func (b builtImage) images(t *testing.T) (v1.ImageIndex, map[string]v1.Image) {
	t.Helper()
	top, err := b.path(t).ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := v1.NewHash(b.digest)
	if err != nil {
		t.Fatal(err)
	}
	index, err := top.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	return index, imagesOf(t, index)
}

func imagesOf(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	for _, descriptor := range manifest.Manifests {
		if images[descriptor.Platform.String()], err = index.Image(descriptor.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Sorted(maps.Keys(images)); !slices.Equal(got, []string{"linux/amd64", "linux/arm64"}) {
		t.Fatalf("the platforms are %q", got)
	}
	return images
}

// What runs images and what shows them in a registry reads this of it.
func TestImageSaysWhatItIs(t *testing.T) {
	index, images := theImage(t).images(t)
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	want := map[string]string{
		"org.opencontainers.image.title":         "nodepools",
		"org.opencontainers.image.description":   "GitOps for Kubernetes node pools",
		"org.opencontainers.image.source":        "https://github.com/nodepools/nodepools",
		"org.opencontainers.image.documentation": "https://github.com/nodepools/nodepools#readme",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       testVersion,
		"org.opencontainers.image.revision":      testCommit,
	}
	annotated := maps.Clone(want)
	annotated["org.opencontainers.image.created"] = testCreated
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIImageIndex {
		t.Errorf("the index is a %s", manifest.MediaType)
	}
	if diff := cmp.Diff(annotated, manifest.Annotations); diff != "" {
		t.Errorf("annotations of the index (-want +got):\n%s", diff)
	}
	for platform, image := range images {
		manifest, err := image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(annotated, manifest.Annotations); diff != "" {
			t.Errorf("annotations of %s (-want +got):\n%s", platform, diff)
		}
		kinds := []types.MediaType{manifest.MediaType, manifest.Config.MediaType}
		for _, layer := range manifest.Layers {
			kinds = append(kinds, layer.MediaType)
		}
		if want := []types.MediaType{types.OCIManifestSchema1, types.OCIConfigJSON, types.OCILayer, types.OCILayer}; !slices.Equal(kinds, want) {
			t.Errorf("%s is made of %q, want %q", platform, kinds, want)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.OS + "/" + config.Architecture; got != platform {
			t.Errorf("the image of %s is one of %s", platform, got)
		}
		if got := config.Created.UTC().Format(time.RFC3339); got != testCreated {
			t.Errorf("%s is of %s", platform, got)
		}
		if diff := cmp.Diff(v1.Config{
			User: "65532:65532", Entrypoint: []string{"/usr/local/bin/nodepools"}, Cmd: []string{"run"}, WorkingDir: "/",
			Env:    []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Labels: want,
		}, config.Config); diff != "" {
			t.Errorf("configuration of %s (-want +got):\n%s", platform, diff)
		}
	}
}

// The layer of certificates and users is downloaded once, and not with every version.
func TestImagesShareTheirBase(t *testing.T) {
	_, images := theImage(t).images(t)
	var bases []string
	for _, image := range images {
		layers, err := image.Layers()
		if err != nil {
			t.Fatal(err)
		}
		digest, err := layers[0].Digest()
		if err != nil {
			t.Fatal(err)
		}
		bases = append(bases, digest.String())
	}
	if bases[0] != bases[1] {
		t.Errorf("the platforms have the base layers %q", bases)
	}
}

// entries are those of an image, layer by layer, and contents their bytes.
func entries(t *testing.T, image v1.Image) (list []*tar.Header, contents map[string][]byte) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	contents = map[string][]byte{}
	for _, layer := range layers {
		stream, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		reader := tar.NewReader(stream)
		for {
			header, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, header)
			contents[header.Name] = content
		}
		if err := stream.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return list, contents
}

// Each image holds a program for its platform, and its bill of materials lists what Go
// has recorded in that program.
func TestBillOfMaterialsIsThatOfTheProgram(t *testing.T) {
	built := theImage(t)
	_, images := built.images(t)
	bills := built.artifacts(t)
	if len(bills) != 2 {
		t.Fatalf("%d artifacts, want one for each platform", len(bills))
	}
	for platform, image := range images {
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		_, contents := entries(t, image)
		program := contents["usr/local/bin/nodepools"]
		info, err := buildinfo.Read(bytes.NewReader(program))
		if err != nil {
			t.Fatal(err)
		}
		_, arch, _ := strings.Cut(platform, "/")
		for _, setting := range info.Settings {
			if setting.Key == "GOARCH" && setting.Value != arch {
				t.Errorf("the image of %s has a program for %s", platform, setting.Value)
			}
		}
		var bill cdx.BOM
		if err := cdx.NewBOMDecoder(bytes.NewReader(bills[digest.String()]), cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
			t.Fatal(err)
		}
		hash, _, _ := v1.SHA256(bytes.NewReader(program))
		if got := (*bill.Metadata.Component.Hashes)[0].Value; got != hash.Hex || bill.Metadata.Component.Version != testVersion {
			t.Errorf("%s: the bill is of %s with the hash %s, want %s with %s", platform, bill.Metadata.Component.Version, got, testVersion, hash.Hex)
		}
		listed := map[string]string{}
		for _, part := range *bill.Components {
			listed[part.Name] = part.Version
		}
		want := map[string]string{"std": strings.TrimPrefix(info.GoVersion, "go")}
		for _, module := range info.Deps {
			want[module.Path] = module.Version
		}
		want["golang.org/x/crypto/x509roots/fallback"] = requiredVersion(t, "golang.org/x/crypto/x509roots/fallback")
		if diff := cmp.Diff(want, listed); diff != "" || len(want) < 50 {
			t.Errorf("%s: %d parts (-recorded +listed):\n%s", platform, len(want), diff)
		}
	}
}

func requiredVersion(t *testing.T, module string) string {
	t.Helper()
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output))
}

// artifacts returns the bills of materials in a layout, by the digest of what they are
// about.
func (b builtImage) artifacts(t *testing.T) map[string][]byte {
	t.Helper()
	top, err := b.path(t).ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	bills := map[string][]byte{}
	for _, descriptor := range manifest.Manifests {
		if descriptor.ArtifactType != "application/vnd.cyclonedx+json" {
			continue
		}
		artifact, err := top.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		subject, content := artifactOf(t, artifact)
		bills[subject] = content
	}
	return bills
}

// artifactOf returns the subject of an artifact, and its one layer.
func artifactOf(t *testing.T, artifact v1.Image) (subject string, content []byte) {
	t.Helper()
	manifest, err := artifact.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Subject == nil || manifest.ArtifactType != "application/vnd.cyclonedx+json" || len(manifest.Layers) != 1 {
		t.Fatalf("not the manifest of a bill of materials: %+v", manifest)
	}
	layer, err := artifact.LayerByDigest(manifest.Layers[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := layer.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if content, err = io.ReadAll(stream); err != nil {
		t.Fatal(err)
	}
	return manifest.Subject.Digest.String(), content
}

// A program in an image finds no zone files on a disk.
func TestZoneFilesAreInTheProgram(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/nodepools")
	cmd.Dir = root(t)
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(output)), "time/tzdata") {
		t.Error("cmd/nodepools does not import time/tzdata")
	}
}
