package git

import (
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// ParseRef reads what a person calls a ref: refs/heads/<branch>, refs/tags/<tag>,
// a commit by its full hash, a range of versions such as "~1.4" or ">=1.2 <2", or
// HEAD, the default branch. Any other name may be that of a branch or of a tag:
// there are then two refs, of which the repository has one, or both.
//
// A version alone, "1.4", is a name and not a range.
//
// Errors: source.ErrInvalid.
func ParseRef(text string) ([]Ref, error) {
	branch, isBranch := strings.CutPrefix(text, "refs/heads/")
	tag, isTag := strings.CutPrefix(text, "refs/tags/")
	var refs []Ref
	switch {
	case isBranch:
		refs = []Ref{{Branch: branch}}
	case isTag:
		refs = []Ref{{Tag: tag}}
	case text == "HEAD":
		refs = []Ref{{}}
	case len(text) == 40 && object.IsHex(text):
		refs = []Ref{{Commit: text}}
	case isRange(text):
		refs = []Ref{{Semver: text}}
	default:
		refs = []Ref{{Branch: text}, {Tag: text}}
	}
	for _, ref := range refs {
		if err := ref.check(); err != nil || ref == (Ref{}) && text != "HEAD" {
			return nil, invalidRef(source.Quote(text) + " is neither a branch, a tag, a range of versions nor a full commit hash").
				WithHint("write a branch or a tag by its name, or as refs/heads/<branch> or refs/tags/<tag>")
		}
	}
	return refs, nil
}

// isRange reports whether a text is plainly a range: names of refs may hold some of
// these characters, but do not read as a range then.
func isRange(text string) bool {
	if !strings.ContainsAny(text, "~^<>=*| ") {
		return false
	}
	_, err := semver.NewConstraint(text)
	return err == nil
}
