package browser

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program writes a script that replaces a browser.
func program(t *testing.T, dir, name, script string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	all := names
	t.Cleanup(func() { names = all })
	names = slices.DeleteFunc(slices.Clone(all), filepath.IsAbs) // what this machine has has no say

	const works = "echo Chromium 1.2.3"
	tests := map[string]struct {
		reason string
		given  string            // script of what NODEPOOLS_CHROMIUM names
		path   map[string]string // scripts in PATH, by name
		cached string            // script in the cache folder
		want   string            // name of what is found; none for ErrNone
	}{
		"given":              {"who names one gets that one", works, map[string]string{"chromium": works}, works, "given"},
		"in PATH":            {"before the one in the cache folder", "", map[string]string{"google-chrome": works}, works, "google-chrome"},
		"in the cache":       {"where PATH has none", "", nil, works, "chromium"},
		"a name and no more": {"some systems have a script that says how to install it", "", map[string]string{"chromium-browser": "echo install the snap; exit 1"}, works, "chromium"},
		"another program":    {"chromium is the name of a game, too", "", map[string]string{"chromium": "echo B.S.U. 0.9"}, "", ""},
		"broken":             {"one that does not start is as good as none", "", nil, "exit 127", ""},
		"none":               {"a machine without any", "", nil, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			t.Setenv("PATH", dir)
			t.Setenv("HOME", home)
			t.Setenv("XDG_CACHE_HOME", home)
			t.Setenv(given, "")
			if test.given != "" {
				t.Setenv(given, program(t, t.TempDir(), "given", test.given))
			}
			for name, script := range test.path {
				program(t, dir, name, script)
			}
			if test.cached != "" {
				path, err := cached()
				if err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				program(t, filepath.Dir(path), filepath.Base(path), test.cached)
			}
			got, err := Find(t.Context())
			if test.want == "" {
				if !errors.Is(err, ErrNone) {
					t.Errorf("%s: found %q, %v", test.reason, got, err)
				}
				return
			}
			if err != nil || filepath.Base(got) != test.want {
				t.Errorf("%s: found %q, %v, want %s", test.reason, got, err, test.want)
			}
		})
	}
}

// With a named browser the tests must run: they fail rather than being skipped.
func TestFindTheOneThatIsNamedOrFail(t *testing.T) {
	t.Setenv(given, filepath.Join(t.TempDir(), "missing"))
	if path, err := Find(t.Context()); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("found %q, %v", path, err)
	}
}

func TestVerifyRefusesAnotherArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.tgz")
	if err := os.WriteFile(path, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verify(path); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("got %v", err)
	}
}

func TestUnpackStaysInItsFolder(t *testing.T) {
	for _, name := range []string{"../outside", "/outside", "a/../../outside"} {
		dir := filepath.Join(t.TempDir(), "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg}), w.Close()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "archive.tar")
		if err := os.WriteFile(path, archive.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpack(path, false, dir); err == nil {
			t.Errorf("%s is unpacked", name)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "outside")); err == nil {
			t.Errorf("%s is outside", name)
		}
	}
}
