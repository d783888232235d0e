package object

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

func TestRevisionRoundTrip(t *testing.T) {
	hash := plumbing.NewHash(strings.Repeat("1f", 20))
	for _, name := range []string{"", "main", "feature/x@y", "x@sha1:y"} {
		want := Revision{Name: name, Hash: hash}
		got, err := ParseRevision(want.String())
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v", want, got, err)
		}
	}
}
