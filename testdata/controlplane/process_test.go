package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram, in the environment, makes the test binary the program itself.
const asProgram = "NODEPOOLS_TEST_CONTROLPLANE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// controlplane is a process of the program with a cache folder and servers of the
// test's own.
func controlplane(t *testing.T, cache, server string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "XDG_CACHE_HOME="+cache, "HOME="+cache, "KUBEBUILDER_ASSETS=", kubernetesVariable+"=",
		envtestIndexVariable+"="+server+"/index.yaml", releaseSiteVariable+"="+server+"/release", githubAPIVariable+"="+server,
		"HTTP_PROXY=", "http_proxy=", "NO_PROXY=", "no_proxy=")
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // it may have ended just now
			_ = cmd.Wait()
		}
	})
	return cmd, stdout, stderr
}

// Processes that start together download once, and all of them get the folder.
func TestProcessesShareADownload(t *testing.T) {
	p := newPublished()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	fakeGo(t)
	cache := t.TempDir()
	type process struct {
		cmd            *exec.Cmd
		stdout, stderr *bytes.Buffer
	}
	var processes []process
	for range 4 {
		cmd, stdout, stderr := controlplane(t, cache, server.URL)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		processes = append(processes, process{cmd, stdout, stderr})
	}
	folders := map[string]bool{}
	for _, p := range processes {
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, p.stderr)
		}
		folders[strings.TrimSpace(p.stdout.String())] = true
	}
	if len(folders) != 1 {
		t.Errorf("the folders are %v, want one", folders)
	}
	if n := p.times(".tar.gz"); n != 1 {
		t.Errorf("the bundle was downloaded %d times", n)
	}
	if n := p.times("kube-scheduler"); n != 1 {
		t.Errorf("kube-scheduler was downloaded %d times", n)
	}
}

// A process that is killed in the middle of a download leaves nothing that passes
// for a program, and the next one begins anew.
func TestKilledDownloadLeavesNoProgram(t *testing.T) {
	p := newPublished()
	half := make(chan struct{}, 1)
	stuck := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/kube-scheduler") {
			p.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write([]byte(program(testVersion, "half")))
		_ = http.NewResponseController(w).Flush()
		half <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(stuck.Close)
	fakeGo(t)
	cache := t.TempDir()
	cmd, _, stderr := controlplane(t, cache, stuck.URL)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-half
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if found, err := filepath.Glob(filepath.Join(cache, "nodepools", "controlplane", "*", "kube-scheduler*")); err != nil || len(found) > 0 {
		t.Errorf("there is %v (%v) after the kill\n%s", found, err, stderr)
	}

	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	cmd, stdout, stderr := controlplane(t, cache, server.URL)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	checkPrograms(t, strings.TrimSpace(stdout.String()), map[string]string{
		"kube-apiserver": "envtest", "kubectl": "envtest", "etcd": "envtest",
		"kube-controller-manager": "release site", "kube-scheduler": "release site", "kwok": "GitHub",
	})
}

// Proxies of the environment are used.
func TestDownloadGoesThroughTheProxy(t *testing.T) {
	p := newPublished()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "mirror.example.com" {
			http.Error(w, "for mirror.example.com alone", http.StatusForbidden)
			return
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	fakeGo(t)
	cmd, stdout, stderr := controlplane(t, t.TempDir(), "http://mirror.example.com")
	cmd.Env = append(cmd.Env, "HTTP_PROXY="+proxy.URL)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if origin, err := os.ReadFile(filepath.Join(strings.TrimSpace(stdout.String()), "etcd"+origin)); err != nil || !strings.Contains(string(origin), "mirror.example.com") {
		t.Errorf("etcd is from %q (%v)\n%s", origin, err, stderr)
	}
}

// With -build no server is asked.
func TestBuildFlag(t *testing.T) {
	p := newPublished()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	fakeGo(t)
	cmd, stdout, stderr := controlplane(t, t.TempDir(), server.URL, "-build")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	want := map[string]string{}
	for _, c := range testComponents(t) {
		want[c.name] = "built"
	}
	checkPrograms(t, strings.TrimSpace(stdout.String()), want)
	if len(p.requests()) > 0 {
		t.Errorf("%v was asked for", p.requests())
	}
	if !strings.Contains(stderr.String(), "building kube-apiserver") {
		t.Errorf("it says %s", stderr)
	}
}

// What KUBEBUILDER_ASSETS lacks is downloaded where it is published.
func TestAssetsAreCompletedByDownloads(t *testing.T) {
	server := httptest.NewServer(newPublished())
	t.Cleanup(server.Close)
	fakeGo(t)
	given := t.TempDir()
	for _, name := range []string{"kube-apiserver", "kubectl", "etcd"} {
		touch(t, filepath.Join(given, name))
	}
	cmd, stdout, stderr := controlplane(t, t.TempDir(), server.URL)
	cmd.Env = append(cmd.Env, "KUBEBUILDER_ASSETS="+given)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	output, err := exec.Command(filepath.Join(strings.TrimSpace(stdout.String()), "kube-scheduler"), "from").Output()
	if err != nil || string(output) != "release site\n" {
		t.Errorf("kube-scheduler is from %q (%v)\n%s", output, err, stderr)
	}
}
