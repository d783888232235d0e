package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// release writes a release of two platforms: the others are compiled by the same code,
// which takes long.
func release(t *testing.T, source string) (dir, image string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "release")
	image = publish(t, source, nil, "release", "-version", testVersion, "-commit", testCommit,
		"-platforms", "linux/amd64,linux/arm64", "-repository", "registry.example.com/nodepools",
		"-layout", filepath.Join(t.TempDir(), "image"), "-output", dir)
	return dir, strings.TrimSpace(image)
}

// A release is one of files that belong together: each is listed with its checksum, the
// manifests run the image that was built, and krew installs the archives.
func TestRelease(t *testing.T) {
	dir, image := release(t, root(t))
	if want := "registry.example.com/nodepools:" + testVersion + "@" + theImage(t).digest; image != want {
		t.Errorf("release prints %q, want %q", image, want)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	var names, listed []string
	for _, entry := range entries {
		if entry.Name() != "checksums.txt" {
			names = append(names, entry.Name())
		}
	}
	for line := range strings.Lines(string(files["checksums.txt"])) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed = append(listed, name)
		if got := sha256.Sum256(files[name]); hex.EncodeToString(got[:]) != sum {
			t.Errorf("the checksum of %s is wrong", name)
		}
	}
	prefix := "nodepools_" + testVersion + "_linux_"
	want := []string{
		"crds.yaml", "install.yaml", "krew-nodepools.yaml", "nodepools-" + strings.TrimPrefix(testVersion, "v") + ".tgz",
		prefix + "amd64.cdx.json", prefix + "amd64.tar.gz", prefix + "arm64.cdx.json", prefix + "arm64.tar.gz",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(names, listed); diff != "" {
		t.Errorf("checksums (-files +listed):\n%s", diff)
	}
	if !strings.Contains(string(files["install.yaml"]), "image: "+image+"\n") {
		t.Errorf("install.yaml does not run %s", image)
	}
	if strings.Contains(string(files["crds.yaml"]), "kind: Deployment") || !strings.Contains(string(files["crds.yaml"]), "kind: CustomResourceDefinition") {
		t.Error("crds.yaml is not the custom resource definitions alone")
	}
	testArchive(t, files[prefix+program.Host().Arch+".tar.gz"])

	// The same of the source elsewhere.
	elsewhere := t.TempDir()
	copySource(t, elsewhere)
	again, _ := release(t, elsewhere)
	if diff := cmp.Diff(hashes(t, dir), hashes(t, again)); diff != "" {
		t.Errorf("a second release is another:\n%s", diff)
	}
}

// testArchive unpacks an archive, and runs what is in it.
func testArchive(t *testing.T, archive []byte) {
	t.Helper()
	if program.Host().OS != "linux" || archive == nil {
		return
	}
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	reader := tar.NewReader(compressed)
	dir := t.TempDir()
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
		if err := os.WriteFile(filepath.Join(dir, header.Name), content, header.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "LICENSE")); err != nil {
		t.Error(err)
	}
	output, err := exec.Command(filepath.Join(dir, "nodepools"), "version").CombinedOutput()
	if want := "nodepools " + testVersion + "\ncommit    " + testCommit + "\n"; err != nil || !strings.HasPrefix(string(output), want) {
		t.Errorf("version in the archive: %v\n%s", err, output)
	}
}

// What is not released says so before anything is compiled, and what is there stays.
func TestReleaseRefuses(t *testing.T) {
	for reason, c := range map[string]struct {
		args []string
		says string
	}{
		"no version of a release": {[]string{"-version", "0123abc", "-commit", testCommit}, "is not the version of a release"},
		"a version without a v":   {[]string{"-version", "1.2.3", "-commit", testCommit}, "is not the version of a release"},
		"a working tree":          {[]string{"-version", testVersion, "-commit", testCommit + "-dirty"}, "the working tree differs"},
		"no commit":               {[]string{"-version", testVersion}, "the commit is not known"},
		"half a commit":           {[]string{"-version", testVersion, "-commit", "0123abc"}, "is not valid"},
		"a flag of the linker":    {[]string{"-version", "v1.2.3 -X main.version=v2", "-commit", testCommit}, "is not valid"},
		"a repository with a tag": {[]string{"-version", testVersion, "-commit", testCommit, "-repository", "registry.example.com/n:v1"}, "the repository is not the name of one"},
		"a repository of nowhere": {[]string{"-version", testVersion, "-commit", testCommit, "-repository", "nodepools"}, "the repository is not the name of one"},
		"an argument":             {[]string{"-version", testVersion, "-commit", testCommit, "now"}, "unexpected argument"},
		"a platform that is none": {[]string{"-version", testVersion, "-commit", testCommit, "-platforms", "linux"}, "is not a platform"},
	} {
		t.Run(reason, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "release")
			_, log, err := tryPublish(t, root(t), nil, append([]string{"release", "-output", dir, "-layout", dir + "-image"}, c.args...)...)
			if err == nil || !strings.Contains(log, c.says) || strings.Contains(log, "compiling") {
				t.Errorf("%v\n%swant %q", err, log, c.says)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("something was written")
			}
		})
	}
}
