package review

import (
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
)

// Text returns a sentence: what pools want of a key, and why they do not get it.
func (c Conflict) Text() string {
	var claims []string
	for _, claim := range c.Claims {
		claims = append(claims, fmt.Sprintf("pool %s wants %s", Word(claim.Pool), Value(claim.Field, claim.Want)))
	}
	if c.MoreClaims > 0 {
		claims = append(claims, Count(c.MoreClaims, "more pool")+" "+wantIt(c.MoreClaims))
	}
	text := fmt.Sprintf("%s %s: %s", c.Field, Word(c.Key), strings.Join(claims, ", "))
	if len(c.Claims) == 0 {
		return text
	}
	switch first := c.Claims[0]; {
	case first.Older != "" && first.Have != nil:
		return text + ", and pool " + Word(first.Older) + ", which is older and of the same priority, wants " + Value(first.Field, *first.Have)
	case first.Holder != "":
		return text + ", and pool " + Word(first.Holder) + ", which is paused or in error, holds it"
	case first.NoRoom:
		return text + ", and it does not fit into what pools may take of the annotations of a node"
	case first.Have != nil:
		return text + ", and " + setting(first)
	}
	return text
}

func wantIt(pools int) string {
	if pools == 1 {
		return "does not get it either"
	}
	return "do not get it either"
}

// Text returns a sentence: what is contested, on which nodes, and by whom as
// far as that is known.
func (c Contest) Text() string {
	shown := plan.PoolContest(c)
	shown.Key, shown.NodeNames = Word(c.Key), nil
	for _, name := range c.NodeNames {
		shown.NodeNames = append(shown.NodeNames, Word(name))
	}
	return "pool " + Word(c.Pool) + ": " + shown.String()
}

// MoreContestsText returns how many contests are not listed; empty for none.
func (r *Review) MoreContestsText() string {
	if r.MoreContests == 0 {
		return ""
	}
	return "and " + Count(r.MoreContests, "more key") + ", which the statuses of the pools only count"
}

// setting returns who has set the live value, as far as that is known.
func setting(c plan.Conflict) string {
	var names []string
	for _, manager := range c.SetBy {
		names = append(names, plan.ManagerName(manager))
	}
	if c.MoreSetBy > 0 {
		names = append(names, fmt.Sprintf("%d more", c.MoreSetBy))
	}
	have := Value(c.Field, *c.Have)
	switch {
	case len(names) == 0:
		return "somebody else has set " + have
	case c.Field == plan.Taint:
		return "somebody else has set " + have + " (" + enumerate(names) + " wrote the taints last)"
	case len(names) == 1:
		return names[0] + " has set " + have
	}
	return enumerate(names) + " have set " + have
}

// enumerate joins words into an enumeration.
func enumerate(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
