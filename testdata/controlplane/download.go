package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// envtestIndex lists the bundles that are made for tests: kube-apiserver,
	// etcd and kubectl, for Linux and macOS, of some versions.
	envtestIndex = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"

	// releaseSite has every program of every version of Kubernetes, for Linux.
	releaseSite = "https://dl.k8s.io/release"

	// githubAPI lists the files of releases on GitHub with their checksums.
	githubAPI = "https://api.github.com"
)

// Mirrors of them, for those who cannot reach them.
const (
	envtestIndexVariable = "NODEPOOLS_ENVTEST_INDEX"
	releaseSiteVariable  = "NODEPOOLS_KUBERNETES_RELEASES"
	githubAPIVariable    = "NODEPOOLS_GITHUB_API"
)

const (
	largestIndex    = 4 << 20
	largestChecksum = 1 << 10
	largestProgram  = 1 << 30

	versionTimeout = 30 * time.Second
)

// downloader brings programs that are published, of the versions that would be
// built and no others.
type downloader struct {
	client     *client
	index      string // address of the index of envtest
	site       string // address of the folder that has a folder for each version
	github     string // address of the API
	kubernetes string // version
	goos       string
	goarch     string

	alone bool // what it cannot bring is not built
	idle  bool // it brings nothing, and nothing is built
}

func newDownloader(kubernetes, goos, goarch string) *downloader {
	return &downloader{
		client:     newClient(),
		index:      cmp.Or(os.Getenv(envtestIndexVariable), envtestIndex),
		site:       cmp.Or(os.Getenv(releaseSiteVariable), releaseSite),
		github:     cmp.Or(os.Getenv(githubAPIVariable), githubAPI),
		kubernetes: kubernetes, goos: goos, goarch: goarch,
	}
}

// download puts those of the components that are published into dir. The error
// says why others could not be downloaded; it is nil where none is published.
//
// All servers are requested at the same time, so that several unreachable ones
// take no longer than one. What envtest lacks is then downloaded from the
// release site.
func (d *downloader) download(ctx context.Context, dir, scratch string, todo []component) error {
	var bundled, released, both, others []component
	for _, c := range todo {
		switch {
		case c.bundled && c.released:
			both = append(both, c)
			fallthrough
		case c.bundled:
			bundled = append(bundled, c)
		case c.released:
			released = append(released, c)
		case c.github != "":
			others = append(others, c)
		}
	}
	site := &release{downloader: d, dir: dir, scratch: filepath.Join(scratch, "release")}
	var fromEnvtest, fromSite, fromGitHub error
	var wg sync.WaitGroup
	wg.Go(func() { fromEnvtest = d.fromEnvtest(ctx, dir, filepath.Join(scratch, "envtest"), bundled) })
	wg.Go(func() { fromGitHub = d.fromGitHub(ctx, dir, filepath.Join(scratch, "github"), others) })
	wg.Go(func() {
		// The checksums of what the bundle has are requested, too: that shows whether
		// the site is reachable, should the bundle not be.
		site.fetchChecksums(ctx, slices.Concat(released, both))
		fromSite = site.bring(ctx, released)
	})
	wg.Wait()
	if fromEnvtest != nil {
		left, err := missing(dir, both, false)
		if err != nil {
			return err
		}
		// An unreachable site is reported once.
		if err := site.bring(ctx, left); fromSite == nil || site.absent == nil {
			fromSite = errors.Join(fromSite, err)
		}
	}
	return errors.Join(fromEnvtest, fromSite, fromGitHub)
}

// file downloads a file whose checksum is known.
func (d *downloader) file(ctx context.Context, address, to string, sum hash.Hash, want string) error {
	progress := func(done, total int64) {
		if total > 0 {
			say("%s: %s of %s", path.Base(address), size(done), size(total))
		} else {
			say("%s: %s", path.Base(address), size(done))
		}
	}
	err := write(to, func(file io.Writer) error {
		return d.client.get(ctx, address, largestProgram, io.MultiWriter(file, sum), progress)
	})
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s: its checksum is %.16s…, and %.16q… is what was published", address, got, want)
	}
	return nil
}

// write makes a program of what is written, on the disk for good.
func write(path string, content func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if err := content(file); err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(file.Sync(), file.Close())
}

// place puts a program from scratch into dir, if it is what would be built.
func place(ctx context.Context, dir, scratch string, c component, from string) error {
	program := filepath.Join(scratch, c.name)
	if there, err := exists(program); err != nil || !there {
		return errors.Join(fmt.Errorf("there is no %s in it", c.name), err)
	}
	if err := checkVersion(ctx, program, c); err != nil {
		return err
	}
	// First where it came from: a program that was downloaded must not pass for
	// a built one, whenever we are killed.
	if err := os.WriteFile(filepath.Join(dir, c.name+origin), []byte(from+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(program, filepath.Join(dir, c.name))
}

// checkVersion runs a program, as a checksum alone does not prove its version.
func checkVersion(ctx context.Context, program string, c component) error {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	output, err := reportOf(ctx, program, c.versionArgs)
	if err != nil {
		return fmt.Errorf("%s does not start: %w", c.name, err)
	}
	want := strings.TrimPrefix(c.version, "v")
	if !slices.ContainsFunc(strings.Fields(output), func(word string) bool { return strings.TrimPrefix(word, "v") == want }) {
		line, _, _ := strings.Cut(output, "\n")
		return fmt.Errorf("%s is %.60q, not of version %s", c.name, line, c.version)
	}
	return nil
}

// reportOf returns what a program prints. Written a moment ago, it may still be
// open in another child of ours, for as long as that takes to start; the kernel
// runs no program that is open for writing.
func reportOf(ctx context.Context, program string, args []string) (string, error) {
	for {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = []string{"KUBERC=off"} // nothing of the user's has a say
		cmd.WaitDelay = time.Second
		output, err := cmd.Output()
		if !errors.Is(err, syscall.ETXTBSY) || ctx.Err() != nil {
			return string(output), err
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// noProgress is the progress of small files.
func noProgress(int64, int64) {}
