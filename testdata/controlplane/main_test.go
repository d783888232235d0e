package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Kubernetes v1.X.Y was released together with v0.X.Y of its parts; another
// mixture may build and not work.
func TestPartsFitKubernetes(t *testing.T) {
	kubernetes, err := required("k8s.io/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	want := "v0" + strings.TrimPrefix(kubernetes, "v1")
	parts := 0
	for line := range strings.Lines(goMod) {
		f := strings.Fields(line)
		if len(f) != 4 || f[1] != "=>" {
			continue
		}
		parts++
		if f[0] != f[2] || f[3] != want {
			t.Errorf("replaced %s by %s %s, want %s %s", f[0], f[2], f[3], f[0], want)
		}
	}
	if parts == 0 {
		t.Error("go.mod replaces nothing")
	}
}

// The real programs report their versions the way in which a downloaded one is
// asked for it.
func TestRealProgramsAreWhatTheyAre(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane; run without -short")
	}
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv(kubernetesVariable, "")
	dir, err := wanted{}.provide(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	components, _, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range components {
		checked++
		if err := checkVersion(t.Context(), filepath.Join(dir, c.name), c); err != nil {
			t.Error(err)
		}
		c.version += "0"
		if err := checkVersion(t.Context(), filepath.Join(dir, c.name), c); err == nil {
			t.Errorf("%s passes for version %s", c.name, c.version)
		}
	}
	if checked == 0 {
		t.Error("there are no programs")
	}
}

func TestAssets(t *testing.T) {
	components, _, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		lacks  []string // of the given folder; the cache has all
		want   string   // in the error
	}{
		"whole":        {"nothing comes from the cache", nil, ""},
		"envtest":      {"the bundles have no more than these", []string{"kube-controller-manager", "kube-scheduler", "kwok"}, ""},
		"wrong folder": {"building would hide the mistake", []string{"etcd", "kwok"}, "has no etcd\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root, given := t.TempDir(), t.TempDir()
			built := filepath.Join(root, "built")
			if err := os.Mkdir(built, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, c := range components {
				touch(t, filepath.Join(built, c.name))
				touch(t, filepath.Join(given, c.name))
			}
			for _, name := range tc.lacks {
				if err := os.Remove(filepath.Join(given, name)); err != nil {
					t.Fatal(err)
				}
			}

			dir, err := assets(t.Context(), root, built, given, components, nil)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: the error is %v, want %q in it", tc.reason, err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range components {
				want := filepath.Join(given, c.name)
				for _, name := range tc.lacks {
					if c.name == name {
						want = filepath.Join(built, c.name)
					}
				}
				if got, err := os.Readlink(filepath.Join(dir, c.name)); err != nil || got != want {
					t.Errorf("%s: %s is %s (%v), want %s", tc.reason, c.name, got, err, want)
				}
			}
		})
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
}
