package git

import (
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// Ref says which revision of a repository to follow. At most one field is set;
// with none it is the repository's default branch (the remote's HEAD).
type Ref struct {
	// Branch is a branch by its short name: "main".
	Branch string
	// Tag is a tag by its short name: "v1.2.0". An annotated tag stands for the
	// commit that it points to.
	Tag string
	// Semver is a range such as ">=1.2.0 <2.0.0" or "~1.4": the highest tag in
	// it is followed. A tag counts when it is a full version, "1.2.3" or
	// "v1.2.3"; "20260102" does not. Pre-releases count only for a range that
	// names one, as in ">=1.2.0-0".
	Semver string
	// Commit is a commit by its full hash, 40 hex digits. It never moves.
	Commit string
}

func (r Ref) check() error {
	set := 0
	for _, value := range []string{r.Branch, r.Tag, r.Semver, r.Commit} {
		if value != "" {
			set++
		}
	}
	switch {
	case set > 1:
		return invalidRef("more than one of branch, tag, semver and commit is set")
	case r.Branch != "":
		return checkName("branch", r.Branch, plumbing.NewBranchReferenceName(r.Branch))
	case r.Tag != "":
		return checkName("tag", r.Tag, plumbing.NewTagReferenceName(r.Tag))
	case r.Semver != "":
		if _, err := semver.NewConstraint(r.Semver); err != nil || len(r.Semver) > 255 {
			return invalidRef("semver " + source.Quote(r.Semver) + " is no range of versions")
		}
	case r.Commit != "":
		return checkCommit(r.Commit)
	}
	return nil
}

func checkName(what, name string, full plumbing.ReferenceName) error {
	if len(name) > 255 || !source.ValidPath(name) || full.Validate() != nil {
		return invalidRef(what + " " + source.Quote(name) + " is no name of a " + what)
	}
	return nil
}

func checkCommit(hash string) error {
	switch {
	case len(hash) == 64 && object.IsHex(hash):
		return object.UnsupportedSHA256("ref")
	case !object.IsCommit(hash):
		return invalidRef("commit " + source.Quote(hash) + " is no full commit hash").
			WithHint("write all 40 hex digits, in lower case")
	}
	return nil
}

func invalidRef(text string) *source.Error { return source.NewError(source.ErrInvalid, "ref", text) }

// wants reports whether a ref of a server matters to this one.
func (r Ref) wants(name string) bool {
	switch {
	case r.Branch != "":
		return name == string(plumbing.NewBranchReferenceName(r.Branch))
	case r.Tag != "":
		return name == string(plumbing.NewTagReferenceName(r.Tag))
	case r.Semver != "":
		return plumbing.ReferenceName(name).IsTag()
	}
	return name == "HEAD" || plumbing.ReferenceName(name).IsBranch()
}

// resolve finds the ref in what a server advertises. The empty name means that
// it is not there.
func (r Ref) resolve(a *advertisement) object.Revision {
	switch {
	case r.Branch != "":
		return a.at(r.Branch, plumbing.NewBranchReferenceName(r.Branch))
	case r.Tag != "":
		return a.at(r.Tag, plumbing.NewTagReferenceName(r.Tag))
	case r.Semver != "":
		return r.highest(a)
	}
	return defaultBranch(a)
}

// highest picks the highest version in the range. Two tags for one version,
// "1.2.3" and "v1.2.3", are ordered by their names, so that the choice is the
// same each time.
func (r Ref) highest(a *advertisement) object.Revision {
	within, err := semver.NewConstraint(r.Semver)
	if err != nil {
		return object.Revision{} // check has refused it
	}
	var best *semver.Version
	var tag string
	for full := range a.refs {
		short := plumbing.ReferenceName(full).Short()
		version, err := semver.StrictNewVersion(strings.TrimPrefix(short, "v"))
		if err != nil || !source.ValidName(short) || !within.Check(version) {
			continue
		}
		if best == nil || version.GreaterThan(best) || version.Equal(best) && short > tag {
			best, tag = version, short
		}
	}
	return a.at(tag, plumbing.NewTagReferenceName(tag))
}

// defaultBranch names the branch that HEAD points to. Servers that do not say
// leave the branch to be guessed, as git does: one that stands at the same
// commit, main and master before others.
func defaultBranch(a *advertisement) object.Revision {
	head, ok := a.refs["HEAD"]
	if !ok {
		return object.Revision{}
	}
	if name := plumbing.ReferenceName(a.head); name.IsBranch() && source.ValidName(name.Short()) {
		return object.Revision{Name: name.Short(), Hash: head}
	}
	var same []string
	for full, hash := range a.refs {
		if name := plumbing.ReferenceName(full); name.IsBranch() && hash == head && source.ValidName(name.Short()) {
			same = append(same, name.Short())
		}
	}
	for _, usual := range []string{"main", "master"} {
		if slices.Contains(same, usual) {
			return object.Revision{Name: usual, Hash: head}
		}
	}
	if len(same) == 0 {
		return object.Revision{Name: "HEAD", Hash: head}
	}
	return object.Revision{Name: slices.Min(same), Hash: head}
}

// String names the ref in an error.
func (r Ref) String() string {
	switch {
	case r.Branch != "":
		return "branch " + source.Quote(r.Branch)
	case r.Tag != "":
		return "tag " + source.Quote(r.Tag)
	case r.Semver != "":
		return "tag in the range " + source.Quote(r.Semver)
	case r.Commit != "":
		return "commit " + r.Commit
	}
	return "default branch"
}
