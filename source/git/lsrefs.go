package git

import (
	"errors"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/source"
)

// prefixes are what the names of the refs begin with that matter to this one.
func (r Ref) prefixes() []string {
	switch {
	case r.Branch != "":
		return []string{string(plumbing.NewBranchReferenceName(r.Branch))}
	case r.Tag != "":
		return []string{string(plumbing.NewTagReferenceName(r.Tag))}
	case r.Semver != "":
		return []string{"refs/tags/"}
	}
	return []string{"HEAD"}
}

// listed asks a server of version 2 for the refs that matter. One whose HEAD is no branch
// leaves it to be guessed, as earlier versions do, and then all branches matter.
func (c *conversation) listed() (*advertisement, error) {
	a, err := c.lsRefs(c.about.prefixes...)
	if err != nil || a.head != "" || a.refs["HEAD"].IsZero() {
		return a, err
	}
	return c.lsRefs("HEAD", "refs/heads/")
}

// lsRefs asks for the refs whose names begin with one of the prefixes, and keeps those
// that matter: a server may send others, too.
func (c *conversation) lsRefs(prefixes ...string) (*advertisement, error) {
	stream, err := c.ask(prefixes...)
	if err != nil {
		return nil, err
	}
	bounded := &boundedReader{from: stream, left: c.limits.advertisement}
	a, err := readListing(bounded, c.about.keep)
	if bounded.exceeded {
		return nil, c.fail(source.ErrTooLarge, "the list of refs is longer than the limit")
	}
	if errors.Is(err, errSilent) {
		return nil, c.explainEnd()
	}
	return a, err
}

// isEmpty reports whether a server of version 2 has no ref at all. It reads no more than
// the first one, so the conversation is over.
func (c *conversation) isEmpty() (bool, error) {
	stream, err := c.ask()
	if err != nil {
		return false, err
	}
	kind, _, err := (&packets{from: stream}).next()
	return kind == flushPacket, err
}

func (c *conversation) ask(prefixes ...string) (io.Reader, error) {
	command := newCommand("ls-refs", c.greeting)
	command.line("peel")
	command.line("symrefs")
	for _, prefix := range prefixes {
		command.line("ref-prefix " + prefix)
	}
	return c.request(command.end())
}

// readListing understands the answer to ls-refs:
// https://git-scm.com/docs/protocol-v2#_ls_refs
func readListing(r io.Reader, keep func(string, plumbing.Hash) bool) (*advertisement, error) {
	lines := &packets{from: r}
	a := &advertisement{refs: map[string]plumbing.Hash{}, peeled: map[string]plumbing.Hash{}}
	for first := true; ; first = false {
		kind, line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF) && first:
			return nil, errSilent
		case err != nil:
			return nil, broken(ignoreEOF(err))
		case kind == flushPacket:
			return a, nil
		case kind != dataPacket:
			return nil, errGarbled
		}
		if err := a.list(line, keep); err != nil {
			return nil, err
		}
	}
}

// list reads "<hash> <name>", and what is said about it.
func (a *advertisement) list(line string, keep func(string, plumbing.Hash) bool) error {
	id, rest, _ := strings.Cut(line, " ")
	name, attributes, _ := strings.Cut(rest, " ")
	hash, _, err := splitRef(id + " " + name)
	switch {
	case err != nil:
		return err
	case name == "":
		return errGarbled
	}
	peeled := plumbing.ZeroHash
	target := ""
	for attribute := range strings.FieldsSeq(attributes) {
		key, value, _ := strings.Cut(attribute, ":")
		switch key {
		case "symref-target":
			target = value
		case "peeled":
			if peeled, _, err = splitRef(value + " " + name); err != nil {
				return err
			}
		}
	}
	if name == "HEAD" {
		a.head = target
	}
	kept := hash
	if !peeled.IsZero() {
		kept = peeled
	}
	if hash.IsZero() || !keep(name, hash) && !keep(name, kept) {
		return nil
	}
	a.refs[name] = hash
	if !peeled.IsZero() {
		a.peeled[name] = peeled
	}
	return nil
}
