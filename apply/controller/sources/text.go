package sources

import (
	"errors"
	"fmt"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
)

// maxListed is how many problems or pools a message about a source names; the
// others are counted. A message has room for 32,768 bytes, and validate shows
// them all.
const maxListed = 10

// describe is an error in bounded length, with what to do about it.
func describe(err error) string {
	problems, claims, block, release := render.Problems(nil), (*plan.ClaimError)(nil), (*plan.PruneBlock)(nil), (*plan.ReleaseBlock)(nil)
	switch {
	case errors.As(err, &problems):
		first := problems[:min(len(problems), maxListed)]
		text := strings.ReplaceAll(first.Error(), "\n", "; ")
		if more := problems.Count() - len(first); more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		return text
	case errors.As(err, &claims):
		return listed(claims.Lines(), "; ") + "; " + claims.Remedy()
	case errors.As(err, &release):
		return release.Error()
	case errors.As(err, &block):
		return fmt.Sprintf("%s kept that are no longer in the repository, of %d, because %s; kept: %s; %s",
			pools(len(block.Pools)), block.Of, block.Reason, listed(block.Pools, ", "), block.Remedy)
	}
	text := apply.Brief(err)
	if hint := source.Hint(err); hint != "" {
		text += "; " + hint
	}
	return text
}

// notTaken says why a revision is not taken, and which one holds meanwhile.
func (facts sourceFacts) notTaken(err error) string {
	text := fmt.Sprintf("%s; revision %s is not taken", describe(err), facts.revision)
	if facts.standing != "" && facts.standing != facts.revision {
		text += fmt.Sprintf("; %s stays", facts.standing)
	}
	return text
}

// describeApproval reports that pools are going to be deleted because somebody has
// approved it.
func describeApproval(revision string, names []string) string {
	return fmt.Sprintf("the prune of %s is approved; deleting %s: %s", revision, pools(len(names)), listed(names, ", "))
}

// describeApproved says which pools were deleted because somebody has approved it.
func describeApproved(prune *v1.ApprovedPrune) string {
	named := strings.Join(prune.Pools, ", ")
	if more := int(prune.Count) - len(prune.Pools); more > 0 {
		named += fmt.Sprintf(", and %d more", more)
	}
	return fmt.Sprintf("the prune of %s is approved; %s deleted: %s", prune.Revision, pools(int(prune.Count)), named)
}

// describeDeletion is what a source that is being deleted waits for.
func describeDeletion(deletion *plan.SourceDeletion) string {
	names := deletion.WaitsFor()
	text := fmt.Sprintf("%s deleted with the source, and waited for until gone: %s", pools(len(names)), listed(names, ", "))
	if len(deletion.Kept) > 0 {
		text += "; " + describeKept(deletion)
	}
	return text
}

func describeKept(deletion *plan.SourceDeletion) string {
	return fmt.Sprintf("%s kept, as %s: %s", pools(len(deletion.Kept)), deletion.Why, listed(deletion.Kept, ", "))
}

// describeHanded names pools that another source is going to take up, and which one.
func describeHanded(handed []plan.Handover) string {
	names := make([]string, len(handed))
	for i, handover := range handed {
		names[i] = handover.String()
	}
	return "kept, as another source has them in its repository, until it takes them up: " + listed(names, ", ")
}

// describeUnowned names pools that look like those of a source and are kept.
func describeUnowned(names []string) string {
	return fmt.Sprintf("%s kept that are not in the repository and carry the name or the UID of this source, which has not applied them: %s",
		pools(len(names)), listed(names, ", "))
}

func describeRecreated(names []string) string {
	return "waiting to make again, once they are gone, pools that were deleted: " + listed(names, ", ")
}

func listed(lines []string, separator string) string {
	if more := len(lines) - maxListed; more > 0 {
		lines = append(lines[:maxListed:maxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, separator)
}

func pools(count int) string {
	if count == 1 {
		return "1 pool"
	}
	return fmt.Sprintf("%d pools", count)
}

// describePools counts what a plan does to pools.
func describePools(p *plan.PoolsPlan) string {
	counts := map[plan.Action]int{}
	for _, change := range p.Changes {
		counts[change.Action]++
	}
	var parts []string
	for _, action := range []plan.Action{plan.Create, plan.Update, plan.Delete} {
		if counts[action] > 0 {
			parts = append(parts, fmt.Sprintf("%sd %s", action, pools(counts[action])))
		}
	}
	return strings.Join(parts, ", ")
}
