package render

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// resolved follows an alias, which never leads to another alias.
func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.ShortTag() == yaml.MergeTag
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == yaml.NodeTagNull
}

// describe returns what a node is, for a message that says what it should be.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch node.ShortTag() {
	case yaml.NodeTagNull:
		return "empty"
	case yaml.NodeTagInt, yaml.NodeTagFloat:
		return "the number " + printable(node.Value, maxValue)
	case yaml.NodeTagBool:
		return "the boolean " + printable(node.Value, maxValue)
	case yaml.NodeTagString:
		return "the text " + quoted(node.Value)
	}
	return quoted(node.Value)
}

// notText returns why a node is not text, and a hint; both are empty if it is.
// The API server reads YAML 1.1, which has more booleans than the parser used
// here: yes, no, on, off.
func notText(node *yaml.Node) (problem, hint string) {
	if node.Kind != yaml.ScalarNode {
		return describe(node), ""
	}
	plain := node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	quote := func() string { return "put it in quotes: " + quoted(node.Value) }
	switch tag := node.ShortTag(); {
	case tag == yaml.NodeTagNull:
		return describe(node), `write "" for an empty text, or leave it out`
	case tag == yaml.NodeTagInt, tag == yaml.NodeTagFloat, tag == yaml.NodeTagBool:
		return describe(node), quote()
	case tag == yaml.MergeTag:
		return "the merge key <<", quote()
	case plain && isOldBool(node.Value):
		return "the boolean " + node.Value, quote()
	case tag != yaml.NodeTagString && tag != "!!timestamp":
		return "tagged " + quoted(node.Tag), "leave the tag out"
	}
	return "", ""
}

func isOldBool(value string) bool {
	switch value {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON",
		"n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return true
	}
	return false
}
