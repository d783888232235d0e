package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
)

const (
	testVersion = "v1.37.1"
	testEtcd    = "v3.7.0"
	testOS      = "linux"
	testArch    = "amd64"
)

// published plays the index of envtest, the release site and GitHub. Its programs are
// scripts that report a version.
type published struct {
	index   string            // text of the index
	bundle  map[string]string // programs of the bundle, by their name in the archive
	release map[string]string // programs of the release site, by name; of another version with that before it
	sums    map[string]string // checksums on the release site, by the same
	kwok    string            // the program on GitHub
	assets  string            // the list there
	torn    string            // name of the file that ends in the middle

	mu    sync.Mutex
	asked []string // paths, in order
}

// newPublished has everything, and all of it right.
func newPublished() *published {
	p := &published{bundle: map[string]string{}, release: map[string]string{}, sums: map[string]string{}}
	for name, version := range map[string]string{"kube-apiserver": testVersion, "kubectl": testVersion, "etcd": testEtcd} {
		p.bundle["controller-tools/envtest/"+name] = program(version, "envtest")
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"} {
		p.give(name, program(testVersion, "release site"))
	}
	p.index = p.indexOf(testVersion)
	p.kwok = program(kwokVersion, "GitHub")
	p.assets = assetsWith(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(p.kwok))))
	return p
}

// program is a script that reports a version and, called with "from", its origin.
// It is padded, so that half of it is half of a real file.
func program(version, from string) string {
	return fmt.Sprintf("#!/bin/sh\n[ \"$1\" = from ] && { echo %s; exit; }\necho Version: %s\nexit\n# %s\n",
		from, version, strings.Repeat("x", 64<<10))
}

// give puts a program with its checksum on the release site.
func (p *published) give(name, text string) {
	p.release[name] = text
	p.sums[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// indexOf is an index with the bundle as that of a version.
func (p *published) indexOf(version string) string {
	return indexEntry(version, testOS, testArch, fmt.Sprintf("%x", sha512.Sum512(p.archive())))
}

// assetsWith is the list of a release with a file for us and others.
func assetsWith(digest string) string {
	return fmt.Sprintf(`{"assets": [
		{"name": "kwok-linux-arm64", "digest": "sha256:00", "browser_download_url": "/none"},
		{"name": "kwokctl-linux-amd64", "digest": "sha256:00", "browser_download_url": "/none"},
		{"name": "kwok-linux-amd64", "digest": %q, "browser_download_url": "/assets/kwok-linux-amd64"}]}`, digest)
}

func indexEntry(version, goos, goarch, sum string) string {
	name := fmt.Sprintf("envtest-%s-%s-%s.tar.gz", version, goos, goarch)
	return fmt.Sprintf("releases:\n  %s:\n    %s:\n      hash: %s\n      selfLink: /bundles/%s\n", version, name, sum, name)
}

func (p *published) archive() []byte {
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	for _, name := range sortedKeys(p.bundle) {
		text := p.bundle[name]
		must(files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		_, err := io.WriteString(files, text)
		must(err)
	}
	must(files.Close())
	must(compressed.Close())
	return archive.Bytes()
}

// requests are the paths that were asked for.
func (p *published) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func (p *published) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r.URL.Path)
	name := path.Base(r.URL.Path)
	bare := strings.TrimSuffix(name, ".sha256")
	folder := path.Dir(r.URL.Path)
	if version, platform, _ := strings.Cut(strings.TrimPrefix(folder, "/release/"), "/"); version != testVersion {
		bare, folder = path.Join(version, bare), path.Join("/release", testVersion, platform)
	}
	switch {
	case name == "index.yaml":
		p.send(w, name, p.index)
	case r.URL.Path == "/repos/kubernetes-sigs/kwok/releases/tags/"+kwokVersion:
		p.send(w, "assets", p.assets)
	case r.URL.Path == "/assets/kwok-linux-amd64":
		p.send(w, name, p.kwok)
	case strings.HasPrefix(r.URL.Path, "/bundles/"):
		p.send(w, "bundle", string(p.archive()))
	case folder != path.Join("/release", testVersion, "bin", testOS, testArch) || p.release[bare] == "":
		http.NotFound(w, r)
	case strings.HasSuffix(name, ".sha256"):
		p.send(w, name, p.sums[bare])
	default:
		p.send(w, name, p.release[bare])
	}
}

func (p *published) send(w http.ResponseWriter, name, text string) {
	w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	if name == p.torn {
		text = text[:len(text)/2]
	}
	// The server closes the connection of an answer that is too short.
	_, err := io.WriteString(w, text)
	must(err)
}

// times says how often something was asked for whose path ends so.
func (p *published) times(suffix string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, path := range p.asked {
		if strings.HasSuffix(path, suffix) {
			n++
		}
	}
	return n
}
