package main

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// serveRegistry starts one on this machine, and returns its host and port.
func serveRegistry(t *testing.T, referrers bool) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers)))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// pushed pushes the image, and returns its index as somebody else pulls it.
func pushed(t *testing.T, referrers bool) (name.Digest, v1.ImageIndex) {
	t.Helper()
	built := theImage(t)
	tag := serveRegistry(t, referrers) + "/team/nodepools:v1"
	out := publish(t, t.TempDir(), nil, "push", "-layout", built.dir, "-image", tag)
	if want := tag + "@" + built.digest + "\n"; out != want {
		t.Fatalf("push prints %q, want %q", out, want)
	}
	digest, err := name.NewDigest(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	return digest, index
}

// What is pulled from a registry is what was built, for each platform, and its bills of
// materials are found from it: by registries that know referrers, and by others.
func TestPushedImageIsWhatWasBuilt(t *testing.T) {
	for reason, referrers := range map[string]bool{"the registry lists referrers": true, "the registry is older": false} {
		t.Run(reason, func(t *testing.T) {
			built := theImage(t)
			reference, index := pushed(t, referrers)
			if digest, err := index.Digest(); err != nil || digest.String() != built.digest {
				t.Errorf("the tag is %s (%v), want %s", digest, err, built.digest)
			}
			bills := built.artifacts(t)
			for platform, image := range imagesOf(t, index) {
				_, contents := entries(t, image)
				_, images := built.images(t)
				_, want := entries(t, images[platform])
				if !maps.EqualFunc(contents, want, bytes.Equal) {
					t.Errorf("the files of %s are others than those that were built", platform)
				}
				digest, err := image.Digest()
				if err != nil {
					t.Fatal(err)
				}
				list, err := remote.Referrers(reference.Context().Digest(digest.String()))
				if err != nil {
					t.Fatal(err)
				}
				manifest, err := list.IndexManifest()
				if err != nil {
					t.Fatal(err)
				}
				if len(manifest.Manifests) != 1 {
					t.Fatalf("%d artifacts refer to %s", len(manifest.Manifests), platform)
				}
				artifact, err := remote.Image(reference.Context().Digest(manifest.Manifests[0].Digest.String()))
				if err != nil {
					t.Fatal(err)
				}
				if subject, content := artifactOf(t, artifact); subject != digest.String() || !bytes.Equal(content, bills[subject]) {
					t.Errorf("the bill of materials of %s is another", platform)
				}
			}
		})
	}
}

// A second push finds everything there.
func TestPushAgain(t *testing.T) {
	built := theImage(t)
	tag := serveRegistry(t, true) + "/nodepools:v1"
	for range 2 {
		if out := publish(t, t.TempDir(), nil, "push", "-layout", built.dir, "-image", tag); !strings.Contains(out, built.digest) {
			t.Errorf("push prints %q", out)
		}
	}
}

// hostImage is the image for the architecture of this machine, as it was pulled.
func hostImage(t *testing.T) v1.Image {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skipf("no image for %s", runtime.GOARCH)
	}
	_, index := pushed(t, true)
	return imagesOf(t, index)["linux/"+runtime.GOARCH]
}

// unpack writes the files of an image as an engine for containers would.
func unpack(t *testing.T, image v1.Image, dir string) {
	t.Helper()
	list, contents := entries(t, image)
	for _, header := range list {
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		var err error
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.Mkdir(path, 0o755)
		case tar.TypeReg:
			err = os.WriteFile(path, contents[header.Name], 0o644)
		default:
			t.Fatalf("%s is of type %c", header.Name, header.Typeflag)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, header.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// A tool that was written for OCI images, and not by us, reads it the same.
func TestUmociUnpacksTheImage(t *testing.T) {
	umoci, err := exec.LookPath("umoci")
	if err != nil {
		t.Skip("NOT TESTED: umoci is not installed")
	}
	image := hostImage(t)
	dir := t.TempDir()
	path, err := layout.Write(filepath.Join(dir, "layout"), empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendImage(image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "v1"})); err != nil {
		t.Fatal(err)
	}
	args := []string{"raw", "unpack", "--image", filepath.Join(dir, "layout") + ":v1", filepath.Join(dir, "theirs")}
	if os.Getuid() != 0 {
		args = slices.Insert(args, 2, "--rootless")
	}
	if output, err := exec.Command(umoci, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if err := os.Mkdir(filepath.Join(dir, "ours"), 0o755); err != nil {
		t.Fatal(err)
	}
	unpack(t, image, filepath.Join(dir, "ours"))
	if diff := cmp.Diff(tree(t, filepath.Join(dir, "ours")), tree(t, filepath.Join(dir, "theirs"))); diff != "" {
		t.Errorf("umoci unpacks other files (-ours +umoci's):\n%s", diff)
	}
}

// tree is what is in a folder: modes, and the hashes of files.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			hash, _, _ := v1.SHA256(bytes.NewReader(content))
			text += " " + hash.Hex
		}
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What the Dockerfile copies is what the image holds, to modes and times.
func TestTreeIsTheImage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	publish(t, root(t), nil, "tree", "-version", testVersion, "-commit", testCommit, "-platforms", "linux/amd64", "-output", dir)
	_, images := theImage(t).images(t)
	list, _ := entries(t, images["linux/amd64"])
	unpacked := t.TempDir()
	unpack(t, images["linux/amd64"], unpacked)
	if diff := cmp.Diff(tree(t, unpacked), tree(t, dir)); diff != "" {
		t.Errorf("the tree is another (-image +tree):\n%s", diff)
	}
	for _, header := range list {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(header.Name)))
		if err != nil {
			t.Fatal(err)
		}
		if !info.ModTime().Equal(header.ModTime) || header.ModTime.Unix() != 0 || header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s is of %s in the tree and of %s in the image, where it belongs to %d:%d", header.Name, info.ModTime(), header.ModTime, header.Uid, header.Gid)
		}
	}
	// What is there is not overwritten.
	if _, log, err := tryPublish(t, root(t), nil, "tree", "-platforms", "linux/amd64", "-output", dir); err == nil || !strings.Contains(log, "is not empty") {
		t.Errorf("a folder that is not empty: %v\n%s", err, log)
	}
}
