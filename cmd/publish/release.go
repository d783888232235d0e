package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

var releaseVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// release writes the files of a release and the image that its manifests name, and
// returns the name of that image with its digest.
func (s *source) release(ctx context.Context, scratch, layout, dir, repository string, platforms []string) (string, error) {
	if !releaseVersion.MatchString(s.version) {
		return "", fmt.Errorf("%q is not the version of a release: name one as in VERSION=v1.2.3", s.version)
	}
	if s.commit == "" || strings.HasSuffix(s.commit, "-dirty") {
		return "", errors.New("a release is built from a commit: commit or remove what git status shows")
	}
	programs, err := s.compile(ctx, scratch, platforms)
	if err != nil {
		return "", err
	}
	digest, err := s.image(layout, programs)
	if err != nil {
		return "", err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return "", err
	}
	files := map[string][]byte{}
	for _, p := range programs {
		base := fmt.Sprintf("nodepools_%s_%s_%s", s.version, p.os, p.arch)
		files[base+".cdx.json"] = p.materials
		files[base+".tar.gz"], err = compressed([]file{{name: "LICENSE", data: license}, {name: filepath.Base(p.file), mode: 0o755, data: p.executable}}, s.date)
		if err != nil {
			return "", err
		}
	}
	image := repository + ":" + s.version + "@" + digest
	printer := filepath.Join(scratch, runtime.GOOS+"-"+runtime.GOARCH, "nodepools")
	for file, args := range map[string][]string{"install.yaml": {"--image", image}, "crds.yaml": {"--crds-only"}} {
		if files[file], err = exec.CommandContext(ctx, printer, append([]string{"install"}, args...)...).Output(); err != nil {
			return "", fmt.Errorf("cannot print %s: %w", file, err)
		}
	}
	chart := strings.TrimPrefix(s.version, "v") // as Helm demands it
	if files["nodepools-"+chart+".tgz"], err = s.chart(chart, repository, digest); err != nil {
		return "", err
	}
	return image, write(dir, files)
}

// chart returns the chart with this version, which runs the image of the release.
func (s *source) chart(version, repository, digest string) ([]byte, error) {
	values := strings.NewReplacer("version: 0.0.0-devel", "version: "+version, "appVersion: devel", "appVersion: "+s.version,
		"repository: ghcr.io/nodepools/nodepools", "repository: "+repository, `tag: ""`, "tag: "+s.version, `digest: ""`, "digest: "+digest)
	var members []file
	root := os.DirFS("charts")
	err := fs.WalkDir(root, "nodepools", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		members = append(members, file{name: path, data: []byte(values.Replace(string(data)))})
		return err
	})
	if err != nil {
		return nil, err
	}
	return compressed(members, s.date)
}

// write writes files and their checksums to a new folder.
func write(dir string, files map[string][]byte) error {
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	files["checksums.txt"] = []byte(sums.String())
	err := os.Mkdir(dir, 0o755)
	for name, content := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o644)
		}
	}
	return err
}
