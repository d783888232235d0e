package report

import (
	"slices"

	"github.com/nodepools/nodepools/render"
)

// RuleID says what kind of a finding it is. It stays what it is, as servers recognize
// a finding by it.
type RuleID string

// The rules, from what is wrong with a path to what is wrong with a pool.
const (
	PathRule         RuleID = "path"
	FileRule         RuleID = "file"
	DocumentRule     RuleID = "document"
	PoolRule         RuleID = "pool"
	SelfJoinableRule RuleID = "self-joinable"
	RolloutRule      RuleID = "rollout"
)

// Rule is what all findings of a kind have in common.
type Rule struct {
	ID       RuleID
	Severity Severity
	// Title is one for a list of findings, Description says what they are about.
	Title, Description string
}

var rules = []Rule{
	{PathRule, Error, "No pools could be read", "PATH as a whole: missing, without a pool, or unreadable"},
	{FileRule, Error, "File refused", "a file or folder as a whole: too large, a link, too many"},
	{DocumentRule, Error, "Not a NodePool", "text that is no YAML, or no NodePool with a name"},
	{PoolRule, Error, "Invalid NodePool", "what a pool says, or how it fits with the others"},
	{SelfJoinableRule, Warning, "Nodes can join the pool by themselves", "a label that a kubelet may set, or a pattern of node names"},
	{RolloutRule, Warning, "Part of the rollout without effect", "a field of spec.rollout that is valid and makes no sense"},
}

// Rules returns all rules, in an order that stays.
func Rules() []Rule { return slices.Clone(rules) }

// ruleOf returns the kind of a problem, by what it is about.
func ruleOf(p render.Problem) RuleID {
	switch {
	case p.Line == 0:
		return FileRule
	case p.Pool == "":
		return DocumentRule
	default:
		return PoolRule
	}
}

// ruleAt returns a rule and its place in the list.
func ruleAt(id RuleID) (int, Rule) {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		panic("no rule " + string(id)) // the rules stand above
	}
	return i, rules[i]
}
