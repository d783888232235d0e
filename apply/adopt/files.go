package adopt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/render/output"
)

// Files are the pools as YAML, a file for each, in their order.
func (p *Proposal) Files() ([]output.File, error) {
	files := make([]output.File, 0, len(p.Pools))
	for _, pool := range p.Pools {
		var text bytes.Buffer
		for _, sentence := range describeMembers(pool) {
			wrap.Hang(&text, "# ", "# ", strings.Fields(sanitize.Line(sentence)))
		}
		if err := render.WriteYAML(&text, pool.NodePool); err != nil {
			return nil, err
		}
		files = append(files, output.File{Name: pool.Name + ".yaml", Text: text.Bytes()})
	}
	return files, nil
}

// describeMembers says how a pool chooses its members, and what else could.
func describeMembers(pool Pool) []string {
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

// OneFile is all files as one.
func OneFile(files []output.File) []byte {
	var text bytes.Buffer
	for i, file := range files {
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(file.Text)
	}
	return text.Bytes()
}
