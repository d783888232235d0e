package report

import (
	"net/url"
	"testing"
)

func TestArtifactAt(t *testing.T) {
	for _, test := range []struct {
		reason, name string
		want         sarifArtifact
	}{
		{"as it is", "pools/gpu.yaml", sarifArtifact{"pools/gpu.yaml", "%SRCROOT%"}},
		{"what a URI has for itself is escaped", "a b/100%#?ü.yaml", sarifArtifact{"a%20b/100%25%23%3F%C3%BC.yaml", "%SRCROOT%"}},
		{"a colon makes no scheme", "javascript:alert(1).yaml", sarifArtifact{"./javascript:alert%281%29.yaml", "%SRCROOT%"}},
		{"an absolute one has no base", "/tmp/a b.yaml", sarifArtifact{"file:///tmp/a%20b.yaml", ""}},
		{"slashes make no host", "//example.com/a.yaml", sarifArtifact{"file:///example.com/a.yaml", ""}},
	} {
		got := artifactAt(test.name)
		if got != test.want {
			t.Errorf("%s: %q became %q", test.reason, test.name, got)
		}
		if _, err := url.Parse(got.URI); err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}
