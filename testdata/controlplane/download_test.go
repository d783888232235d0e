package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whatever goes wrong with what is published, every program is there at the end
// and whole: from envtest, from the release site, or built.
func TestProvide(t *testing.T) {
	const (
		envtest = "envtest"
		site    = "release site"
		github  = "GitHub"
		built   = "built"
	)
	right := map[string]string{
		"kube-apiserver": envtest, "kubectl": envtest, "etcd": envtest,
		"kube-controller-manager": site, "kube-scheduler": site, "kwok": github,
	}
	// with is what is right, but for some.
	with := func(names string, from string) map[string]string {
		all := maps.Clone(right)
		for name := range strings.FieldsSeq(names) {
			all[name] = from
		}
		return all
	}
	noBundle := with("kube-apiserver kubectl", site)
	noBundle["etcd"] = built

	for name, tc := range map[string]struct {
		reason string
		change func(p *published)
		want   map[string]string
		said   []string // each of them in the one line that says why something is built
	}{
		"right": {"nothing is built", func(*published) {}, right, nil},
		"no index": {"the release site has what else the bundle brings", func(p *published) { p.index = "" }, noBundle,
			[]string{"the index has no v1.37.1 for linux on amd64"}},
		"garbage for an index": {"a page of a hotel is no index", func(p *published) { p.index = "<html>\n\tPlease log in" }, noBundle,
			[]string{"is not an index"}},
		"another version": {"v1.37.10 is not v1.37.1, and neither is v1.37.0", func(p *published) {
			p.index = p.indexOf("v1.37.10") + strings.TrimPrefix(p.indexOf("v1.37.0"), "releases:\n")
		}, noBundle, []string{"the index has no v1.37.1"}},
		"another platform": {"a bundle for macOS does not start here", func(p *published) {
			p.index = indexEntry(testVersion, "darwin", "arm64", strings.Repeat("f", 128))
		}, noBundle, []string{"the index has no v1.37.1 for linux on amd64"}},
		"wrong checksum of the bundle": {"what is not what was published is not run", func(p *published) {
			p.index = indexEntry(testVersion, testOS, testArch, strings.Repeat("f", 128))
		}, noBundle, []string{"envtest-v1.37.1-linux-amd64.tar.gz: its checksum is", `and "ffff`}},
		"no checksum of the bundle": {"without a checksum nothing is believed", func(p *published) {
			p.index = indexEntry(testVersion, testOS, testArch, "''")
		}, noBundle, []string{"its checksum is", `and ""`}},
		"torn index": {"half an index may lack our version, or half a checksum", func(p *published) { p.torn = "index.yaml" }, noBundle,
			[]string{"index.yaml: the connection ended after"}},
		"torn bundle": {"half an archive is none", func(p *published) { p.torn = "bundle" }, noBundle,
			[]string{"tar.gz: the connection ended after"}},
		"bundle without etcd": {"what is in it is taken", func(p *published) {
			delete(p.bundle, "controller-tools/envtest/etcd")
			p.index = p.indexOf(testVersion)
		}, with("etcd", built), []string{"there is no etcd in it"}},
		"bundle with another etcd": {"go.mod says which etcd", func(p *published) {
			p.bundle["controller-tools/envtest/etcd"] = program("v3.7.01", envtest)
			p.index = p.indexOf(testVersion)
		}, with("etcd", built), []string{`etcd is "Version: v3.7.01", not of version v3.7.0`}},
		"bundle that is none": {"its checksum is right all the same", func(p *published) {
			p.bundle = map[string]string{"controller-tools/envtest/kube-apiserver": "not a program"}
			p.index = p.indexOf(testVersion)
		}, noBundle, []string{"kube-apiserver does not start", "there is no etcd in it"}},
		"bundle that climbs": {"names in an archive are not paths", func(p *published) {
			p.bundle["../../../outside"] = program(testVersion, envtest)
			p.bundle["../../../kube-apiserver"] = p.bundle["controller-tools/envtest/kube-apiserver"]
			delete(p.bundle, "controller-tools/envtest/kube-apiserver")
			p.index = p.indexOf(testVersion)
		}, right, nil},
		"wrong checksum of a program": {"what is not what was published is not run", func(p *published) {
			p.sums["kube-scheduler"] = strings.Repeat("f", 64)
		}, with("kube-scheduler", built), []string{"kube-scheduler: its checksum is"}},
		"torn program": {"the others are taken", func(p *published) { p.torn = "kube-controller-manager" },
			with("kube-controller-manager", built), []string{"kube-controller-manager: the connection ended after"}},
		"torn checksum": {"half a checksum is none", func(p *published) { p.torn = "kube-scheduler.sha256" },
			with("kube-scheduler", built), []string{"kube-scheduler.sha256: the connection ended after"}},
		"checksum with a name": {"as sha256sum writes it", func(p *published) {
			p.sums["kube-scheduler"] += "  kube-scheduler\n"
		}, right, nil},
		"program of another version": {"a checksum does not say what a program is", func(p *published) {
			p.give("kube-scheduler", program("v1.37.0", site))
		}, with("kube-scheduler", built), []string{`kube-scheduler is "Version: v1.37.0", not of version v1.37.1`}},
		"no programs for us": {"as for macOS", func(p *published) { clear(p.release) },
			with("kube-controller-manager kube-scheduler", built), []string{"kube-controller-manager.sha256: 404 Not Found", "kube-scheduler.sha256: 404 Not Found"}},
		"wrong checksum on GitHub": {"what is not what was published is not run", func(p *published) {
			p.assets = assetsWith("sha256:" + strings.Repeat("f", 64))
		}, with("kwok", built), []string{"kwok-linux-amd64: its checksum is", `and "ffff`}},
		"no checksum on GitHub": {"files from before there were any have none", func(p *published) {
			p.assets = assetsWith("")
		}, with("kwok", built), []string{"has no kwok-linux-amd64 with a checksum"}},
		"garbage on GitHub": {"half a list is none", func(p *published) { p.assets = p.assets[:20] }, with("kwok", built),
			[]string{"is not a release"}},
		"torn on GitHub": {"half a program is none", func(p *published) { p.torn = "kwok-linux-amd64" }, with("kwok", built),
			[]string{"kwok-linux-amd64: the connection ended after"}},
		"another version on GitHub": {"a tag can be moved", func(p *published) {
			p.kwok = program("v0.8.1", github)
			p.assets = assetsWith(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(p.kwok))))
		}, with("kwok", built), []string{`kwok is "Version: v0.8.1", not of version v0.8.0`}},
		"nothing at all": {"a proxy that answers for all", func(p *published) {
			clear(p.release)
			p.index, p.assets = "", "{}"
		}, with("kube-apiserver kubectl etcd kube-controller-manager kube-scheduler kwok", built),
			[]string{"the index has no v1.37.1", "kubectl.sha256: 404 Not Found"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublished()
			tc.change(p)
			dir := filepath.Join(t.TempDir(), "in", "cache")
			fakeGo(t)
			said := stderrOf(t, func() {
				if err := provide(t.Context(), dir, testComponents(t), downloaderOf(t, p)); err != nil {
					t.Error(err)
				}
			})
			checkPrograms(t, dir, tc.want)
			var why []string
			for line := range strings.Lines(said) {
				if strings.Contains(line, "cannot be downloaded") {
					why = append(why, line)
				}
			}
			if tc.said == nil && len(why) > 0 || tc.said != nil && len(why) != 1 {
				t.Fatalf("%s: %d lines say what cannot be downloaded:\n%s", tc.reason, len(why), said)
			}
			for _, want := range tc.said {
				if !strings.Contains(why[0], want) {
					t.Errorf("%s: %q is not in\n%s", tc.reason, want, why[0])
				}
			}
			if outside, err := filepath.Glob(filepath.Join(dir, "..", "..", "outside*")); err != nil || len(outside) > 0 {
				t.Errorf("%s: %v was written (%v)", tc.reason, outside, err)
			}
		})
	}
}

// A server that is not there costs no more than the line that says so.
func TestProvideWithoutServers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil { // from now on it refuses
		t.Fatal(err)
	}
	dir := t.TempDir()
	fakeGo(t)
	d := downloaderOf(t, newPublished())
	d.index, d.site, d.github = address+"/index.yaml", address, address
	said := stderrOf(t, func() {
		if err := provide(t.Context(), dir, testComponents(t), d); err != nil {
			t.Error(err)
		}
	})
	want := map[string]string{}
	for _, c := range testComponents(t) {
		want[c.name] = "built"
	}
	checkPrograms(t, dir, want)
	if strings.Count(said, "connection refused") != 3 || strings.Count(said, "cannot be downloaded") != 1 {
		t.Errorf("one line should say of all servers that they refuse:\n%s", said)
	}
}

// Who asks for it has all built, also what was downloaded before, once.
func TestProvideBuilds(t *testing.T) {
	p := newPublished()
	dir := t.TempDir()
	log := fakeGo(t)
	for _, d := range []*downloader{downloaderOf(t, p), nil, nil, downloaderOf(t, p)} {
		if err := provide(t.Context(), dir, testComponents(t), d); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	for _, c := range testComponents(t) {
		want[c.name] = "built"
	}
	checkPrograms(t, dir, want)
	runs, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n, all := strings.Count(string(runs), "\n"), len(testComponents(t)); n != all {
		t.Errorf("%d builds, want each of %d programs built once:\n%s", n, all, runs)
	}
	if n := p.times("index.yaml"); n != 1 {
		t.Errorf("the index was asked for %d times; the programs were there", n)
	}
}

// What is in the cache was put there by versions that did not download, and
// stays valid.
func TestProvideAsksNobodyForWhatIsThere(t *testing.T) {
	p := newPublished()
	dir := t.TempDir()
	for _, c := range testComponents(t) {
		touch(t, filepath.Join(dir, c.name))
	}
	for _, d := range []*downloader{downloaderOf(t, p), nil} {
		if err := provide(t.Context(), dir, testComponents(t), d); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.requests()) > 0 {
		t.Errorf("%v was asked for", p.requests())
	}
}

// An interrupt is no reason to build.
func TestProvideInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		interrupt()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	log := fakeGo(t)
	d := downloaderOf(t, newPublished())
	d.index, d.site, d.github = server.URL, server.URL, server.URL
	if err := provide(ctx, dir, testComponents(t), d); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(log); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was built (%v)", err)
	}
	checkPrograms(t, dir, nil)
}

// The versions that are asked for are those of go.mod.
func TestDownloadsWhatWouldBeBuilt(t *testing.T) {
	components, _, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	kubernetes, err := required("k8s.io/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	etcd, err := required("go.etcd.io/etcd/server/v3")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components {
		want := map[string]string{"etcd": etcd, "kwok": kwokVersion}[c.name]
		if want == "" {
			want = kubernetes
		}
		if c.version != want {
			t.Errorf("%s is wanted in version %s, want %s", c.name, c.version, want)
		}
		if c.released && !strings.Contains(c.ldflags, "gitVersion="+kubernetes+" ") {
			t.Errorf("%s is built with %s, which is not %s", c.name, c.ldflags, kubernetes)
		}
	}
	d := newDownloader(kubernetes, "linux", "arm64")
	want := "https://dl.k8s.io/release/" + kubernetes + "/bin/linux/arm64/kube-scheduler"
	if got := (&release{downloader: d}).address(component{name: "kube-scheduler"}); got != want {
		t.Errorf("asks for %s, want %s", got, want)
	}
}

// A program that was written a moment ago may still be open in a child that was
// forked meanwhile, as a download beside it runs programs too.
func TestCheckVersionOfABusyProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(program(testEtcd, "envtest")); err != nil {
		t.Fatal(err)
	}
	checked := make(chan error)
	go func() { checked <- checkVersion(t.Context(), path, component{name: "etcd", version: testEtcd}) }()
	select {
	case err := <-checked:
		t.Errorf("%v, while it was open", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-checked; err != nil {
		t.Error(err)
	}
}
