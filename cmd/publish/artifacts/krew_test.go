package artifacts

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// A manifest as krew reads it: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Caveats          string     `json:"caveats"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
	Files  []struct {
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"files"`
}

// The rules are those by which krew-index takes a plugin.
func TestKrewManifest(t *testing.T) {
	plugins := []plugin{
		{program.Platform{OS: "linux", Arch: "arm64"}, "nodepools_v1.2.3_linux_arm64.tar.gz", digest([]byte("a")), "nodepools"},
		{program.Platform{OS: "windows", Arch: "amd64"}, "nodepools_v1.2.3_windows_amd64.zip", digest([]byte("b")), "nodepools.exe"},
	}
	text, err := krewManifest("v1.2.3", plugins)
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name != "nodepools" || m.Spec.Version != "v1.2.3" {
		t.Errorf("it is of %s %s %s %s", m.APIVersion, m.Kind, m.Metadata.Name, m.Spec.Version)
	}
	// kubectl krew search cuts what is longer, and names the plugin and kubectl before it.
	if short := m.Spec.ShortDescription; short == "" || len(short) > 50 || strings.ContainsAny(short, "\r\n") || strings.HasSuffix(short, ".") || strings.Contains(short, "kubectl") {
		t.Errorf("the short description is %q", short)
	}
	for line := range strings.Lines(m.Spec.Description) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("longer than a terminal is wide: %s", line)
		}
	}
	if len(m.Spec.Platforms) != len(plugins) {
		t.Fatalf("%d platforms, want %d", len(m.Spec.Platforms), len(plugins))
	}
	for i, p := range m.Spec.Platforms {
		want := plugins[i]
		if len(p.Selector.MatchLabels) != 2 || p.Selector.MatchLabels["os"] != want.OS || p.Selector.MatchLabels["arch"] != want.Arch {
			t.Errorf("%s is for %v", want.Archive, p.Selector.MatchLabels)
		}
		if p.URI != "https://github.com/nodepools/nodepools/releases/download/v1.2.3/"+want.Archive {
			t.Errorf("%s is downloaded from %s", want.Archive, p.URI)
		}
		// krew takes these two formats, by their names.
		if !strings.HasSuffix(p.URI, ".tar.gz") && !strings.HasSuffix(p.URI, ".zip") {
			t.Errorf("krew does not unpack %s", p.URI)
		}
		if p.SHA256 != want.SHA256 || !regexp.MustCompile(`^[a-f0-9]{64}$`).MatchString(p.SHA256) {
			t.Errorf("the checksum of %s is %s", want.Archive, p.SHA256)
		}
		var installed []string
		for _, file := range p.Files {
			to := path.Clean(path.Join(file.To, map[bool]string{true: file.From}[file.To == "."]))
			installed = append(installed, to)
		}
		if !slices.Equal(installed, []string{p.Bin, "LICENSE"}) || p.Files[0].From != want.Executable {
			t.Errorf("%s installs %q, and runs %s", want.Archive, installed, p.Bin)
		}
		if strings.TrimSuffix(p.Bin, ".exe") != "kubectl-nodepools" || strings.HasSuffix(p.Bin, ".exe") != (want.OS == "windows") {
			t.Errorf("%s runs %s", want.Archive, p.Bin)
		}
	}
}
