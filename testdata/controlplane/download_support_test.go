package main

import (
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testComponents are those that are real, in versions that the tests know.
func testComponents(t *testing.T) []component {
	t.Helper()
	components, _, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	for i := range components {
		c := &components[i]
		switch {
		case c.released:
			c.version = testVersion
		case c.name == "etcd":
			c.version = testEtcd
		}
	}
	return components
}

func downloaderOf(t *testing.T, p *published) *downloader {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	d := newDownloader(testVersion, testOS, testArch)
	d.index, d.site, d.github = server.URL+"/index.yaml", server.URL+"/release/", server.URL
	t.Cleanup(d.client.http.CloseIdleConnections)
	return d
}

// fakeGo puts a go tool into PATH that builds scripts, and returns the path of its
// log, a line per build.
func fakeGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf(`#!/bin/sh
echo "$@" >>%s
case $1 in
build) to=$5 ;;
install) to=$GOBIN/kwok ;;
esac
printf '#!/bin/sh\necho built\n' >"$to" && chmod +x "$to"
`, log)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return log
}

// stderrOf returns what is printed to standard error meanwhile.
func stderrOf(t *testing.T, during func()) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = write
	all := make(chan string)
	go func() {
		text, _ := io.ReadAll(read) // it ends when write is closed
		all <- string(text)
	}()
	during()
	os.Stderr = stderr
	must(write.Close())
	return <-all
}

// checkPrograms runs each program to learn where it came from, and looks for
// anything that was left behind.
func checkPrograms(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	for name, from := range want {
		output, err := exec.Command(filepath.Join(dir, name), "from").Output()
		if got := strings.TrimSpace(string(output)); err != nil || got != from {
			t.Errorf("%s is from %q (%v), want %q", name, got, err, from)
		}
		origin, err := os.ReadFile(filepath.Join(dir, name+origin))
		if downloaded := from != "built"; downloaded && !strings.Contains(string(origin), "sha") || !downloaded && err == nil {
			t.Errorf("%s is %s, and the note of its origin is %q (%v)", name, from, origin, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if want[strings.TrimSuffix(entry.Name(), origin)] == "" {
			t.Errorf("%s was left behind", entry.Name())
		}
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
