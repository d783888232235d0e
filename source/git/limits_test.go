package git

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/poolfile"
	"github.com/nodepools/nodepools/testdata/sources"
)

// The limits that are documented, as they are.
func TestTreeLimits(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"big.yaml": strings.Repeat("a", poolfile.MaxFileBytes+1), "fits/fits.yaml": strings.Repeat("a", poolfile.MaxFileBytes)})
	var stream strings.Builder
	stream.WriteString("commit refs/heads/many\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nc\n")
	for i := range poolfile.MaxEntries + 1 {
		fmt.Fprintf(&stream, "M 644 inline %d.yaml\ndata 1\na\n", i)
	}
	stream.WriteString("commit refs/heads/total\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nc\n")
	for i := range poolfile.MaxTotalBytes/poolfile.MaxFileBytes + 1 {
		fmt.Fprintf(&stream, "M 644 inline %d.yaml\ndata %d\n%s\n", i, poolfile.MaxFileBytes, strings.Repeat("a", poolfile.MaxFileBytes))
	}
	r.Feed(stream.String(), "fast-import", "--quiet")
	for ref, want := range map[Ref]string{{}: `"big.yaml" is larger`, {Branch: "many"}: "20000 pool files", {Branch: "total"}: "together above"} {
		_, err := both(t.Context(), &Repository{URL: r.URL(), Ref: ref})
		sources.WantError(t, err, source.ErrTooLarge)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := both(t.Context(), &Repository{URL: r.URL(), Path: "fits"}); err != nil {
		t.Error(err)
	}
}
