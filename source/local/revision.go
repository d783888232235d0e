package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// Resolve finds the commit that a revision names, as git does: a branch, a tag,
// origin/main, HEAD or @, FETCH_HEAD, a hash or the beginning of one, each with
// any number of ~N and ^N after it. Unlike git it takes no name that could mean
// several of these. (go-git takes the first commit that it finds for such a name, that
// of an abbreviated hash before that of a branch, and the second parent for ^3.)
//
// Errors: source.ErrRefMissing, source.ErrNotCommit, source.ErrAmbiguous,
// source.ErrInvalid for a way to write a revision that is not known here,
// source.ErrIncomplete where the history is cut off before it.
func (r *Repository) Resolve(ctx context.Context, revision string) (string, error) {
	name, steps, err := splitRevision(revision)
	if err != nil {
		return "", err
	}
	o := &objects{Repository: r, ctx: ctx}
	found, err := o.named(name, revision)
	for i := 0; err == nil && i < len(steps); i++ {
		found, err = o.step(found, steps[i], revision)
	}
	if err != nil {
		return "", r.explain(ctx, source.Subject(revision), err)
	}
	return asAsked(revision, found), nil
}

// asAsked is a revision with the name that it was asked for by, unless that is
// a hash itself.
func asAsked(name string, commit plumbing.Hash) string {
	if strings.HasPrefix(commit.String(), strings.ToLower(name)) {
		name = ""
	}
	return object.Revision{Name: name, Hash: commit}.String()
}

// step is one ~N or ^N after the name of a revision.
type step struct {
	mark  byte
	count int
}

// maxSteps bounds the N of ~N: nobody counts further.
const maxSteps = 1_000_000

// splitRevision takes the steps off a revision.
func splitRevision(text string) (name string, steps []step, err error) {
	if !source.ValidName(text) || text == "" || strings.HasPrefix(text, "-") {
		return "", nil, invalidRevision(text, "is no revision")
	}
	if strings.Contains(text, "..") {
		return "", nil, invalidRevision(text, "is a range").WithHint("name one revision; for the point where two branches part, there is a flag for the merge base")
	}
	if strings.ContainsAny(text, ":\\ ?*[") || strings.Contains(text, "@{") {
		return "", nil, invalidRevision(text, "is written in a way that is not known here")
	}
	end := strings.IndexAny(text, "~^")
	if end < 0 {
		return text, nil, nil
	}
	name, rest := text[:end], text[end:]
	for rest != "" {
		mark := rest[0]
		rest = rest[1:]
		if peel := strings.HasPrefix(rest, "{commit}"); mark == '^' && (peel || strings.HasPrefix(rest, "{}")) {
			_, rest, _ = strings.Cut(rest, "}")
			continue // the commit of a tag is what is found anyway
		}
		next := strings.IndexAny(rest, "~^")
		if next < 0 {
			next = len(rest)
		}
		count := 1
		if next > 0 {
			if count, err = strconv.Atoi(rest[:next]); err != nil || count < 0 || count > maxSteps {
				return "", nil, invalidRevision(text, "is written in a way that is not known here")
			}
		}
		steps, rest = append(steps, step{mark, count}), rest[next:]
	}
	if name == "" {
		return "", nil, invalidRevision(text, "is no revision")
	}
	return name, steps, nil
}

func invalidRevision(text, why string) *source.Error {
	return source.NewError(source.ErrInvalid, "", "revision "+source.Quote(text)+" "+why).
		WithHint("name a branch, a tag or a commit, or one of these followed by ~N or ^N")
}

// named finds the commit of a name; whole is the revision that it is a part of.
//
// HEAD, a full name (refs/heads/main) and a whole hash stand for one thing. Any other
// name may stand for several, and then for none of them: git takes the tag before the
// branch, and whoever may push a tag "origin/main" would say what that is.
func (o *objects) named(name, whole string) (plumbing.Hash, error) {
	if name == "@" {
		name = "HEAD"
	}
	if len(name) == 40 && object.IsHex(strings.ToLower(name)) {
		return o.peel(plumbing.NewHash(name), whole)
	}
	rules := plumbing.RefRevParseRules
	if name == "HEAD" || strings.HasPrefix(name, "refs/") {
		rules = []string{"%s"}
	}
	var candidates []string
	var found plumbing.Hash
	for _, rule := range rules {
		full := fmt.Sprintf(rule, name)
		ref, err := storer.ResolveReference(o.storage, plumbing.ReferenceName(full))
		if err := o.guard.refused(); err != nil {
			return plumbing.ZeroHash, err
		}
		switch {
		case errors.Is(err, dotgit.ErrPackedRefsBadFormat), errors.Is(err, bufio.ErrTooLong), errors.Is(err, storer.ErrMaxResolveRecursion):
			return plumbing.ZeroHash, err
		case err == nil && !ref.Hash().IsZero():
			candidates, found = append(candidates, full), ref.Hash()
		}
	}
	abbreviated, err := o.abbreviated(strings.ToLower(name), whole)
	switch {
	case err == nil:
		candidates, found = append(candidates, abbreviated.String()), abbreviated
	case !errors.Is(err, source.ErrRefMissing) || len(candidates) == 0:
		return plumbing.ZeroHash, err
	}
	if len(candidates) > 1 {
		return plumbing.ZeroHash, ambiguous(whole, candidates)
	}
	return o.peel(found, whole)
}

// ambiguous is the error of a name that stands for several things.
func ambiguous(whole string, candidates []string) *source.Error {
	for i, candidate := range candidates {
		candidates[i] = source.Quote(candidate)
	}
	return source.NewError(source.ErrAmbiguous, "", source.Quote(whole)+" is ambiguous: it could be "+strings.Join(candidates, " or "))
}

// minAbbreviation is git's own limit for the beginning of a hash.
const minAbbreviation = 4

// abbreviated finds the one commit whose hash begins like this.
func (o *objects) abbreviated(prefix, whole string) (plumbing.Hash, error) {
	if len(prefix) < minAbbreviation || len(prefix) > 40 || !object.IsHex(prefix) {
		return plumbing.ZeroHash, o.unknown(whole)
	}
	candidates, err := o.files.withPrefix(prefix)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	commits := map[plumbing.Hash]bool{}
	for _, candidate := range candidates {
		if commit, err := o.peel(candidate, whole); err == nil {
			commits[commit] = true
		}
	}
	if len(commits) > 1 {
		return plumbing.ZeroHash, source.NewError(source.ErrRefMissing, "", fmt.Sprintf("%d commits begin with %s", len(commits), prefix)).
			WithHint("write more of the hash")
	}
	for commit := range commits {
		return commit, nil
	}
	return plumbing.ZeroHash, o.unknown(whole)
}

// maxTags is how many tags may stand for each other before there is a commit.
const maxTags = 16

// peel goes from an annotated tag to its commit.
func (o *objects) peel(hash plumbing.Hash, whole string) (plumbing.Hash, error) {
	for range maxTags {
		found, err := o.load(hash, plumbing.AnyObject)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return plumbing.ZeroHash, o.unknown(whole)
		}
		if err != nil {
			return plumbing.ZeroHash, err
		}
		switch found.kind {
		case plumbing.CommitObject:
			return hash, nil
		case plumbing.TagObject:
			if hash, err = object.TagTarget(found.data); err != nil {
				return plumbing.ZeroHash, err
			}
		default:
			return plumbing.ZeroHash, source.NewError(source.ErrNotCommit, "", source.Quote(whole)+" is a "+found.kind.String()+", not a commit")
		}
	}
	return plumbing.ZeroHash, source.NewError(source.ErrRefMissing, "", fmt.Sprintf("%s is a tag of a tag, %d times over", source.Quote(whole), maxTags))
}

// step goes from a commit to one of its ancestors.
func (o *objects) step(from plumbing.Hash, s step, whole string) (plumbing.Hash, error) {
	generations, parent := s.count, 1
	if s.mark == '^' {
		generations, parent = min(s.count, 1), s.count
	}
	for range generations {
		commit, err := object.Commit(o, from)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if o.shallow[from] {
			return plumbing.ZeroHash, o.incomplete("", "the history ends before "+source.Quote(whole))
		}
		if parent > len(commit.ParentHashes) {
			return plumbing.ZeroHash, source.NewError(source.ErrRefMissing, "", fmt.Sprintf("there is no %s: commit %s has %s", source.Quote(whole), from.String()[:12], parents(len(commit.ParentHashes))))
		}
		from = commit.ParentHashes[parent-1]
	}
	return from, nil
}

func parents(count int) string {
	switch count {
	case 0:
		return "no parent"
	case 1:
		return "1 parent"
	}
	return fmt.Sprintf("%d parents", count)
}

func (o *objects) unknown(whole string) *source.Error {
	e := source.NewError(source.ErrRefMissing, "", "there is no branch, tag or commit "+source.Quote(whole)+" in this clone")
	if o.Shallow() {
		return e.WithHint("fetch it first, as in 'git fetch origin <branch>', or clone with all of the history: in CI, with fetch-depth: 0 (GitHub) or GIT_DEPTH: 0 (GitLab)")
	}
	return e.WithHint("fetch it first, as in 'git fetch origin <branch>'; 'git branch --all' and 'git tag' list what there is")
}
