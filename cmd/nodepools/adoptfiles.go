package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/adopt"
	"github.com/nodepools/nodepools/apply/wrap"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source/poolfile"
)

// poolText is the file of one pool.
type poolText struct {
	name string
	text []byte
}

// poolTexts are the files of the pools, in their order.
func poolTexts(proposal *adopt.Proposal) ([]poolText, error) {
	files := make([]poolText, 0, len(proposal.Pools))
	for _, pool := range proposal.Pools {
		var text bytes.Buffer
		for _, sentence := range describeMembers(pool) {
			wrap.Hang(&text, "# ", "# ", strings.Fields(sanitize.Line(sentence)))
		}
		if err := render.WriteYAML(&text, pool.NodePool); err != nil {
			return nil, err
		}
		files = append(files, poolText{pool.Name + ".yaml", text.Bytes()})
	}
	return files, nil
}

// describeMembers says how a pool chooses its members, and what else could.
func describeMembers(pool adopt.Pool) []string {
	members, joining := plural(len(pool.Nodes), "node"), "nodes"
	if pool.Spec.Parent != "" {
		joining = "nodes of pool " + pool.Spec.Parent
	}
	switch {
	case pool.Spec.Selector != nil:
		return []string{fmt.Sprintf("%s, chosen by a label that the pool does not carry: %s that have it are members.", members, joining)}
	case !pool.NewRole:
		return []string{fmt.Sprintf("%s, chosen by the label %s: %s that have it are members.", members, v1.RoleLabel(pool.Name), joining)}
	}
	if slices.ContainsFunc(pool.Spec.NodeNames, func(name string) bool { return strings.HasSuffix(name, "*") }) {
		return []string{fmt.Sprintf("%s, chosen by name: %s that join under such names are members.", members, joining)}
	}
	sentences := []string{fmt.Sprintf("%s, chosen by name: nodes that join under other names are no members.", members)}
	if pool.Wider != nil {
		sentences = append(sentences, fmt.Sprintf("The same nodes, and those that join: nodeNames: ['%s']", strings.Join(pool.Wider, "', '")))
	}
	if len(pool.SelectableBy) > 0 {
		sentences = append(sentences, fmt.Sprintf("The same nodes, and those that join: nodepools adopt --select-by %s", pool.SelectableBy[0]))
	}
	return sentences
}

// oneFile is all files as one.
func oneFile(files []poolText) []byte {
	var text bytes.Buffer
	for i, file := range files {
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(file.text)
	}
	return text.Bytes()
}

// writeFiles writes files into a folder, which it makes. Files that are there are
// replaced where that is allowed, and else nothing is written. Whoever is ended in
// the middle leaves some of the files, and each of them whole.
func writeFiles(dir string, files []poolText, overwrite bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--output-dir: %w", err)
	}
	var there []string
	for _, file := range files {
		path := filepath.Join(dir, file.name)
		switch info, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			// A link is somebody else's word on what is written.
			return hint.Add(fmt.Errorf("%s is no regular file: nothing is written", path), "remove it, or name another folder")
		default:
			there = append(there, file.name)
		}
	}
	if len(there) > 0 && !overwrite {
		what := filepath.Join(dir, there[0]) + " exists"
		if more := len(there) - 1; more > 0 {
			what = fmt.Sprintf("%s and %s exist", filepath.Join(dir, there[0]), plural(more, "other file"))
		}
		return hint.Add(errors.New(what+": nothing is written"), "name another folder, or replace them with --overwrite")
	}
	for _, file := range files {
		if err := replaceFile(filepath.Join(dir, file.name), file.text); err != nil {
			return err
		}
	}
	return nil
}

// otherPoolFiles are the names of the pool files in a folder that are none of these,
// sorted. What they say of the nodes is not known to whoever wrote these.
func otherPoolFiles(dir string, files []poolText) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("--output-dir: %w", err)
	}
	var others []string
	for _, entry := range entries {
		name := entry.Name()
		ours := slices.ContainsFunc(files, func(file poolText) bool { return file.name == name })
		if !ours && !poolfile.IsHidden(name) && (entry.IsDir() || poolfile.Is(name)) {
			others = append(others, name)
		}
	}
	return others, nil
}
