package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The test is the program that is started again to do one job.
func init() {
	if len(os.Args) == 3 && os.Args[1] == sourceChild {
		if err := runSourceChild(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func figureOf(t *testing.T, figures []Figure, row, name, baseline string) Figure {
	t.Helper()
	for _, f := range figures {
		if strings.HasPrefix(f.Row, row) && f.Name == name && (baseline == "" && f.Baseline == nil || f.Baseline != nil && strings.HasPrefix(f.Baseline.Name, baseline)) {
			return f
		}
	}
	t.Fatalf("there is no figure %q of %q beside %q", name, row, baseline)
	return Figure{}
}

func TestSourceRows(t *testing.T) {
	figures, err := sourceRows(t.Context(), t.TempDir(), sourceSize{Files: 300, Commits: 20, Refs: 500, Polls: 2, Fetches: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := (Report{Figures: figures}).check(); err != nil {
		t.Fatal(err)
	}
	const nothing, busy, change = "source, nothing new", "source, nothing new, 500 refs", "source, one pool changed"
	for _, row := range []string{nothing, busy} {
		if f := figureOf(t, figures, row, "requests", ""); f.Value != 1 || f.Missed() {
			t.Errorf("%s: %v requests, want 1", row, f.Value)
		}
		if f := figureOf(t, figures, row, "requests for objects", ""); f.Value != 0 || f.Missed() {
			t.Errorf("%s: %v requests for objects, want none", row, f.Value)
		}
		if f := figureOf(t, figures, row, "both ways", ""); f.Value <= 0 || f.Missed() {
			t.Errorf("%s: %v KiB, want at most %v", row, f.Value, f.Target)
		}
		for _, by := range []string{"git ls-remote", "go-git"} {
			if f := figureOf(t, figures, row, "time", by); f.Value <= 0 || f.Baseline.Value <= 0 {
				t.Errorf("%s: nobody takes no time: %v beside %v", row, f.Value, f.Baseline)
			}
		}
	}
	// 500 refs and their names have to come.
	if few, many := figureOf(t, figures, nothing, "both ways", "go-git"), figureOf(t, figures, busy, "both ways", "go-git"); many.Baseline.Value-few.Baseline.Value < 500*60/1024 {
		t.Errorf("500 refs more make %v KiB of %v", many.Baseline.Value, few.Baseline.Value)
	}
	whole := figureOf(t, figures, change, "both ways", "git fetch --depth 1 into nothing")
	delta := figureOf(t, figures, change, "both ways", "git fetch --depth 1 onto")
	if delta.Target == nil || delta.Missed() || delta.Value <= 0 {
		t.Errorf("a fetch takes %v KiB, want at most twice the %v of git", delta.Value, delta.Baseline.Value)
	}
	if delta.Baseline.Value > whole.Baseline.Value/5 {
		t.Errorf("git has fetched %v KiB onto the commit before, and %v into nothing: it has not had it", delta.Baseline.Value, whole.Baseline.Value)
	}
	for _, by := range []string{"git fetch --depth 1 into", "git fetch --depth 1 onto", "go-git"} {
		if f := figureOf(t, figures, change, "peak memory", by); f.Value < 1 || f.Baseline.Value < 1 || f.Value > 4096 {
			t.Errorf("no process has so little or so much memory: %v MiB beside %v", f.Value, f.Baseline)
		}
	}
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "peak memory, the whole fetch before" })
	if most := figureOf(t, figures, change, "peak memory", "go-git").Value; i < 0 || figures[i].Value < 1 || figures[i].Value > most {
		t.Errorf("the first of two fetches has not had its share of %v MiB: %v", most, figures)
	}
}

func TestGitServerCounts(t *testing.T) {
	folder := t.TempDir()
	repository, err := makeGitRepository(t.Context(), filepath.Join(folder, "r.git"), 150, 5)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serveGit(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.close(); err != nil {
			t.Error(err)
		}
	}()
	url := server.url + "/r.git"
	during := func(what func() error) traffic {
		t.Helper()
		got, err := server.during(t.Context(), what)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	wantRequests := func(what string, got traffic, requests, packs int) {
		t.Helper()
		if diff := cmp.Diff([2]int{requests, packs}, [2]int{got.Requests, got.Packs}); diff != "" {
			t.Errorf("%s: requests, and those for objects (-want +got):\n%s", what, diff)
		}
	}
	if got := during(func() error { return nil }); got != (traffic{}) {
		t.Errorf("nobody has asked: %+v", got)
	}
	var head, body int64
	got := during(func() error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/HEAD", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		for name, values := range answer.Header {
			head += int64(len(name) + len(values[0]))
		}
		body, err = io.Copy(io.Discard, answer.Body)
		return err
	})
	wantRequests("a file", got, 1, 0)
	if body == 0 || got.Bytes < head+body || got.Bytes > head+body+1024 {
		t.Errorf("%d bytes, of an answer of %d and %d", got.Bytes, head, body)
	}
	http.DefaultClient.CloseIdleConnections()

	known := ""
	// Version 2 of the protocol takes two for a first listing, of which none is for objects.
	wantRequests("a listing", during(func() (err error) {
		known, err = follow(url).Head(t.Context())
		return err
	}), 2, 0)
	wantRequests("git ls-remote", during(func() error {
		return runGit(t.Context(), "", nil, "-c", "protocol.version=2", "ls-remote", url)
	}), 2, 0)
	if err := repository.changePool(t.Context()); err != nil {
		t.Fatal(err)
	}
	got = during(func() error {
		_, err := fetchNew(t.Context(), follow(url), known)
		return err
	})
	if got.Packs != 1 {
		t.Errorf("a fetch is %+v", got)
	}
	if err := goGitClone(t.Context(), url); err != nil {
		t.Error(err)
	}
	if _, err := server.during(t.Context(), func() error { return io.ErrUnexpectedEOF }); err == nil {
		t.Error("an error was dropped")
	}
}

func TestSourceChildInTrouble(t *testing.T) {
	for name, job := range map[string]sourceJob{
		"nobody":    {By: "nobody"},
		"no server": {By: "nodepools", URL: "http://127.0.0.1:1/r.git"},
		"no clone":  {By: "go-git", URL: "http://127.0.0.1:1/r.git"},
		"no folder": {By: "git", Git: []string{"fetch", "http://127.0.0.1:1/r.git"}, Dir: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			if done, err := job.inChild(t.Context()); err == nil {
				t.Errorf("it has done %+v", done)
			}
		})
	}
	if err := runSourceChild(t.Context(), "no job"); err == nil {
		t.Error("what is no job was done")
	}
	if _, err := fetchNew(t.Context(), follow("http://127.0.0.1:1/r.git"), ""); err == nil {
		t.Error("an error was dropped")
	}
}

// The memory of a child is its own, however much its parent has.
func TestPeakIsOfTheChildAlone(t *testing.T) {
	const size = 256 << 20
	// Not of Go's heap, of which the race detector would keep a multiple.
	ballast, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Munmap(ballast); err != nil {
			t.Error(err)
		}
	}()
	for i := 0; i < size; i += 4096 {
		ballast[i] = 1
	}
	done, err := sourceJob{By: "git", Git: []string{"version"}}.inChild(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if done.PeakKiB < 1024 || done.PeakKiB > size/1024/2 {
		t.Errorf("git version has had %d KiB, started by a child of a parent of %d", done.PeakKiB, size/1024)
	}
}

func TestMedian(t *testing.T) {
	for want, of := range map[float64][]float64{3: {9, 3, 1}, 2.5: {1, 2, 3, 40}, 7: {7}} {
		if got := median(of); got != want {
			t.Errorf("the median of %v is %v, want %v", of, got, want)
		}
	}
}
