package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An earlier version is downloaded where it is published. What all versions share is not
// downloaded for each.
func TestEarlierVersionIsDownloaded(t *testing.T) {
	oldest := earlier[len(earlier)-1]
	p := newPublished()
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		p.give(oldest+"/"+name, program(oldest, "the site of "+oldest))
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	fakeGo(t)
	cache := t.TempDir()
	cmd, stdout, stderr := controlplane(t, cache, server.URL)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	newest := strings.TrimSpace(stdout.String())

	cmd, stdout, stderr = controlplane(t, cache, server.URL, "-kubernetes", oldest, "-download")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	dir := strings.TrimSpace(stdout.String())
	if dir == newest {
		t.Fatalf("both versions are in %s", dir)
	}
	if n := p.times("kwok-linux-amd64"); n != 1 {
		t.Errorf("kwok was downloaded %d times", n)
	}
	for _, name := range []string{"kubectl", "etcd", "kwok"} {
		if target, err := os.Readlink(filepath.Join(dir, name)); err != nil || target != filepath.Join(newest, name) {
			t.Errorf("%s is a link to %q (%v)", name, target, err)
		}
		must(os.Remove(filepath.Join(dir, name)))
	}
	checkPrograms(t, dir, map[string]string{
		"kube-apiserver":          "the site of " + oldest,
		"kube-controller-manager": "the site of " + oldest, "kube-scheduler": "the site of " + oldest,
	})
}

// Who asks for nothing to be built, or brought, is told what lacks, and gets no folder.
func TestNothingIsBroughtUnasked(t *testing.T) {
	p := newPublished()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	log := fakeGo(t)
	oldest := earlier[len(earlier)-1]
	for _, args := range []string{"-installed", "-installed -kubernetes " + oldest, "-download -kubernetes " + oldest} {
		cmd, stdout, stderr := controlplane(t, t.TempDir(), server.URL, strings.Fields(args)...)
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v\n%s", args, err, stderr)
		}
		if stdout.Len() > 0 || !strings.Contains(stderr.String(), "kube-apiserver, ") || !strings.Contains(stderr.String(), errLacking.Error()) {
			t.Errorf("%s prints %q and says %q", args, stdout, stderr)
		}
		if strings.HasPrefix(args, "-installed") && len(p.requests()) > 0 {
			t.Errorf("%s: %v was asked for", args, p.requests())
		}
	}
	if text, err := os.ReadFile(log); err == nil {
		t.Errorf("built: %s", text)
	}
}

func TestWhatCannotBeWanted(t *testing.T) {
	server := httptest.NewServer(newPublished())
	t.Cleanup(server.Close)
	fakeGo(t)
	oldest := earlier[len(earlier)-1]
	for name, tc := range map[string]struct {
		reason, args, env, want string
	}{
		"build nothing and all":     {"it is one or the other", "-build -download", "", "-build asks for all"},
		"build and bring nothing":   {"it is one or the other", "-build -installed", "", "-build asks for all"},
		"typo":                      {"a version that is not known is not looked for", "-kubernetes v1.30.41", "", "name one of v1."},
		"typo in the environment":   {"it says where the typo is", "", kubernetesVariable + "=v1.30.41", kubernetesVariable + `: "v1.30.41"`},
		"version of given programs": {"of what version they are is not ours to say", "-kubernetes " + oldest, "KUBEBUILDER_ASSETS=/somewhere", "unset KUBEBUILDER_ASSETS"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stdout, stderr := controlplane(t, t.TempDir(), server.URL, strings.Fields(tc.args)...)
			if tc.env != "" {
				cmd.Env = append(cmd.Env, tc.env)
			}
			if err := cmd.Run(); err == nil || stdout.Len() > 0 || !strings.Contains(stderr.String(), tc.want) {
				t.Errorf("%s: %v, it prints %q and says %q, want %q in it", tc.reason, err, stdout, stderr, tc.want)
			}
		})
	}
}

func TestListOfVersions(t *testing.T) {
	cmd, stdout, stderr := controlplane(t, t.TempDir(), "http://127.0.0.1:1", "-list")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if got := strings.Fields(stdout.String()); len(got) != len(earlier)+1 || got[0] != testVersion || got[1] != earlier[0] {
		t.Errorf("the list is %v", got)
	}
}
