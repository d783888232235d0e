package artifacts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// The chart of a release has its version, and runs its image.
func TestChart(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	r := Release{
		Source: program.Source{Dir: filepath.Join("..", "..", ".."), Version: "v1.2.3-rc.1", Date: time.Unix(1, 0)},
		Image:  "registry.example.com:5000/team/nodepools:v1.2.3-rc.1@" + digest,
	}
	files := folder{}
	if err := r.chart(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	content := unpack(t, files["nodepools-1.2.3-rc.1.tgz"])
	for name, want := range map[string][]string{
		"nodepools/Chart.yaml":                {"\nversion: 1.2.3-rc.1\n", "\nappVersion: v1.2.3-rc.1\n"},
		"nodepools/values.yaml":               {"\n  repository: registry.example.com:5000/team/nodepools\n", "\n  tag: v1.2.3-rc.1\n", "\n  digest: " + digest + "\n"},
		"nodepools/values.schema.json":        {`"additionalProperties": false`},
		"nodepools/templates/deployment.yaml": {"kind: Deployment"},
		"nodepools/templates/crds.yaml":       {"kind: CustomResourceDefinition"},
	} {
		for _, part := range want {
			if !strings.Contains(content[name], part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
	}
}

// A chart in which the lines of the version are not where they are looked for would be
// published as another version.
func TestChartRefuses(t *testing.T) {
	dir := t.TempDir()
	chart := filepath.Join(dir, "charts", "nodepools")
	if err := os.CopyFS(chart, os.DirFS(filepath.Join("..", "..", "..", "charts", "nodepools"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("version: 1.0.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Release{Source: program.Source{Dir: dir, Version: "v1.2.3"}, Image: "nodepools:v1.2.3@sha256:0"}
	err := r.chart(t.Context(), folder{})
	if want := `charts/nodepools/Chart.yaml does not have the line "version: 0.0.0-devel" once`; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return content
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		content[header.Name] = string(data)
	}
}
