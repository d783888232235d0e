package render

import (
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const keepOutside = "keep other manifests outside the path"

// isPool reports whether a document says that it is a NodePool of our version,
// and what is wrong if it does not. No kind is ignored: it could be a pool
// whose kind is mistyped.
func (d *document) isPool() bool {
	if d.root.Kind != yaml.MappingNode {
		is := "a single value" // which may be a password: it is not shown
		if resolved(d.root).Kind != yaml.ScalarNode {
			is = describe(resolved(d.root))
		}
		d.add(d.root, "a document must be a map with apiVersion, kind, metadata and spec, and is "+is, keepOutside)
		return false
	}
	version, kind := textAt(d.root, "apiVersion"), textAt(d.root, "kind")
	group := v1.GroupVersion.String()
	ours := version == group
	switch {
	case ours && kind == v1.NodePoolKind:
		return true
	case isKustomization(d.file):
		d.add(d.root, "a kustomization is not read", "render it, and commit what comes out of it; where clusters differ by little, layers do without it: see spec.layers of "+v1.NodePoolSourceKind+" and --layer")
	case version == "" && kind == "":
		d.add(d.root, "apiVersion and kind are missing", "begin a pool with apiVersion: "+group+" and kind: "+v1.NodePoolKind+"; "+keepOutside)
	case strings.HasSuffix(kind, "List"):
		d.add(locate(d.root, "kind"), "a "+quoted(kind)+" is not read", "write each pool as a document of its own, with --- between them")
	case ours && kind == v1.NodePoolSourceKind:
		d.add(locate(d.root, "kind"), "a "+v1.NodePoolSourceKind+" says where pools come from, and cannot come from there itself", "apply it to the cluster with kubectl, and keep it outside the path")
	case kind == v1.NodePoolKind:
		d.add(locate(d.root, "apiVersion"), "apiVersion is "+orMissing(version)+", and not "+group, d.meantVersion(version))
	case ours:
		hint := keepOutside
		if kind == "" || Nearest(kind, []string{v1.NodePoolKind}) != "" {
			hint = didYouMean(v1.NodePoolKind)
		}
		d.add(locate(d.root, "kind"), "kind is "+orMissing(kind)+", and not "+v1.NodePoolKind, hint)
	default:
		d.add(locate(d.root, "kind"), "the kind "+orMissing(kind)+" of "+orMissing(version)+" is not a "+v1.NodePoolKind+" of "+group, keepOutside)
	}
	return false
}

// isKustomization reports whether a file is what kustomize takes for the description of
// a folder.
func isKustomization(file string) bool {
	name := strings.ToLower(path.Base(file))
	return name == "kustomization.yaml" || name == "kustomization.yml"
}

// meantVersion is the hint for a NodePool of another version: other projects
// have kinds of that name.
func (d *document) meantVersion(version string) string {
	group := v1.GroupVersion.String()
	if version == "" || Nearest(version, []string{group}) != "" || strings.Contains(version, v1.Domain) {
		return didYouMean(group)
	}
	return keepOutside
}

func orMissing(value string) string {
	if value == "" {
		return "missing"
	}
	return quoted(value)
}

// textAt returns the text under those keys, empty if there is none.
func textAt(node *yaml.Node, keys ...string) string {
	for _, key := range keys {
		_, value, rest := step(node, key)
		if value == nil || rest != "" {
			return ""
		}
		node = resolved(value)
	}
	if problem, _ := notText(node); problem != "" {
		return ""
	}
	return node.Value
}
