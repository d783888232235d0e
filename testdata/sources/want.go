package sources

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/source"
)

// Contents reads all files of a snapshot.
func Contents(t testing.TB, files fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// WantFiles checks that a snapshot has these files and no others.
func WantFiles(t testing.TB, s *source.Snapshot, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, Contents(t, s.Files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// WantError checks the kind, and what holds for every error of a source.
func WantError(t testing.TB, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v (%s), want %v", err, source.Reason(err), kind)
	}
	var ours *source.Error
	if !errors.As(err, &ours) {
		t.Fatalf("%T is not a *source.Error", err)
	}
	for _, text := range []string{err.Error(), source.Hint(err)} {
		if len(text) > source.MaxErrorLength || sanitize.Line(text) != text {
			t.Errorf("%q is too long or not one plain line", text)
		}
	}
}

// Noise is what no compression makes smaller, the same in each run.
func Noise(size int) string {
	random := rand.NewChaCha8([32]byte{1})
	var b strings.Builder
	for b.Len() < size {
		b.WriteByte(byte(random.Uint64()))
	}
	return b.String()
}

// Pipe makes a named pipe that nobody writes to.
func Pipe(t testing.TB, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Skip(err)
	}
}
