package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const (
	testVersion = "v0.0.1-rc.1"
	testCommit  = "0123456789abcdef0123456789abcdef01234567"
)

// build runs a command in the root of a source, and returns what it prints last.
func build(t *testing.T, source string, args ...string) string {
	t.Helper()
	t.Chdir(source)
	image, err := run(t.Context(), append([]string{args[0], "-version", testVersion, "-commit", testCommit, "-date", "1767323045"}, args[1:]...))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A release and its image are the same of the same source, whatever the environment and
// the folder are.
func TestImageIsTheSameAnywhere(t *testing.T) {
	here, elsewhere := root(t), t.TempDir()
	for _, dir := range []string{"api", "apply", "charts", "cmd", "render", "source"} {
		if err := os.CopyFS(filepath.Join(elsewhere, dir), os.DirFS(filepath.Join(here, dir))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "LICENSE"} {
		content, err := os.ReadFile(filepath.Join(here, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(elsewhere, file), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	release := func(source string) (image, checksums string) {
		dir := t.TempDir()
		image = build(t, source, "release", "-layout", dir+"/image", "-output", dir+"/release",
			"-repository", "registry.example.com/nodepools", "-platforms", "linux/amd64,linux/arm64")
		content, err := os.ReadFile(dir + "/release/checksums.txt")
		if err != nil {
			t.Fatal(err)
		}
		checkRelease(t, dir+"/release", image)
		return image, string(content)
	}
	image, checksums := release(here)
	for name, value := range map[string]string{"GOAMD64": "v3", "GOOS": "windows", "CGO_ENABLED": "1", "GOFLAGS": "-tags=other", "GOEXPERIMENT": "nogreenteagc", "TZ": "Asia/Kathmandu"} {
		t.Setenv(name, value)
	}
	if again, other := release(elsewhere); again != image || other != checksums {
		t.Errorf("elsewhere the image is %s, not %s, and the checksums are\n%s\nnot\n%s", again, image, other, checksums)
	}
}

// checkRelease checks that the files of a release belong together.
func checkRelease(t *testing.T, dir, image string) {
	t.Helper()
	if output, err := exec.Command("sh", "-c", "cd "+dir+" && sha256sum -c --quiet checksums.txt").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	install, err := os.ReadFile(filepath.Join(dir, "install.yaml"))
	if err != nil || !strings.Contains(string(install), "image: "+image+"\n") {
		t.Errorf("install.yaml does not run %s (%v)", image, err)
	}
	chart := unpack(t, filepath.Join(dir, "nodepools-0.0.1-rc.1.tgz"), t.TempDir())
	values, _ := os.ReadFile(filepath.Join(chart, "nodepools/values.yaml"))
	definition, _ := os.ReadFile(filepath.Join(chart, "nodepools/Chart.yaml"))
	_, digest, _ := strings.Cut(image, "@")
	for _, line := range []string{"  repository: registry.example.com/nodepools\n", "  tag: " + testVersion + "\n", "  digest: " + digest + "\n", "\nversion: 0.0.1-rc.1\n", "\nappVersion: " + testVersion + "\n"} {
		if !strings.Contains(string(values)+string(definition), line) {
			t.Errorf("the chart lacks %q", line)
		}
	}
	program := unpack(t, filepath.Join(dir, "nodepools_"+testVersion+"_linux_"+runtime.GOARCH+".tar.gz"), t.TempDir())
	output, err := exec.Command(filepath.Join(program, "nodepools"), "version").CombinedOutput()
	if want := "nodepools " + testVersion + "\ncommit    " + testCommit + "\n"; err != nil || !strings.HasPrefix(string(output), want) {
		t.Errorf("version of the program: %v\n%s", err, output)
	}
}

func unpack(t *testing.T, archive, dir string) string {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	extract(t, tar.NewReader(content), dir)
	return dir
}

func extract(t *testing.T, r *tar.Reader, dir string) {
	t.Helper()
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeDir {
			err = os.Mkdir(path, 0o755)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, 0o644)
			}
		}
		if err = errors.Join(err, os.Chmod(path, header.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}

// What crane pushes is the image that was built, for each platform. It runs without root,
// without a shell and with no file but its own; its bill of materials refers to it.
func TestPushedImageIsWhatWasBuilt(t *testing.T) {
	crane := filepath.Join(t.TempDir(), "crane")
	if output, err := exec.Command("go", "build", "-o", crane, "github.com/google/go-containerregistry/cmd/crane").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	layout := filepath.Join(t.TempDir(), "image")
	digest := build(t, root(t), "image", "-layout", layout)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	tag := strings.TrimPrefix(server.URL, "http://") + "/team/nodepools:v1"
	output, err := exec.Command(crane, "push", layout, tag).Output()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(output)), "@"+digest) {
		t.Fatalf("crane push prints %q, not %s (%v)", output, digest, err)
	}
	reference, err := name.ParseReference(tag)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	var platforms []string
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if descriptor.Platform.OS == "unknown" {
			continue
		}
		platforms = append(platforms, descriptor.Platform.String())
		checkMaterials(t, reference.Context().Digest(descriptor.Digest.String()))
		config, err := image.ConfigFile()
		if err != nil || config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.revision"] != testCommit {
			t.Errorf("configuration of %s: %+v (%v)", descriptor.Platform, config, err)
		}
		if descriptor.Platform.Architecture == runtime.GOARCH {
			checkRuns(t, image)
		}
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the platforms are %q", platforms)
	}
}

// checkMaterials finds the bill of materials as scanners do.
func checkMaterials(t *testing.T, image name.Digest) {
	t.Helper()
	referrers, err := remote.Referrers(image)
	if err != nil {
		t.Fatal(err)
	}
	list, err := referrers.IndexManifest()
	if err != nil || len(list.Manifests) != 1 || list.Manifests[0].ArtifactType != materialsType {
		t.Fatalf("referrers: %+v (%v)", list, err)
	}
	artifact, err := remote.Image(image.Context().Digest(list.Manifests[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers (%v)", len(layers), err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	var bill cdx.BOM
	if err := cdx.NewBOMDecoder(content, cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, part := range *bill.Components {
		listed[part.Name] = true
	}
	if !listed["k8s.io/client-go"] || !listed["std"] || len(listed) < 50 {
		t.Errorf("the bill of materials lists %d parts", len(listed))
	}
}

// TestReleaseRefuses has what is not released; nothing is compiled then.
func TestReleaseRefuses(t *testing.T) {
	t.Chdir(root(t))
	for args, says := range map[string]string{
		"-version 0123abc -commit " + testCommit:           "is not the version of a release",
		"-version v1.2.3":                                  "a release is built from a commit",
		"-version v1.2.3 -commit " + testCommit + "-dirty": "a release is built from a commit",
		"-version v1.2.3 -commit 0123abc":                  "is not valid",
	} {
		if _, err := run(t.Context(), append([]string{"release"}, strings.Fields(args)...)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", args, err, says)
		}
	}
	if _, err := run(t.Context(), []string{"image", "-version", "v1 -X main.version=v2"}); err == nil || !strings.Contains(err.Error(), "is not valid") {
		t.Errorf("a flag of the linker in the version: %v", err)
	}
}
