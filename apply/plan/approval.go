package plan

import (
	"fmt"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/sanitize"
)

// approves reports whether somebody has approved what this very revision deletes,
// and that was not done yet. Files that are no revision have no name that could
// be approved.
func (policy PrunePolicy) approves(revision Revision) bool {
	return policy.Approval != "" && policy.Approval == revision.Name && !policy.ApprovalUsed
}

// pruneRemedy begins what to do about a prune that is blocked.
const pruneRemedy = "if it is meant, "

// remedy says how to let go what the limit holds back.
func (policy PrunePolicy) remedy(revision Revision) string {
	const raise = "raise spec.pruneLimit until they are gone"
	switch {
	case revision.Name == "":
		return pruneRemedy + "approve the revision when it is in the repository: the status of its NodePoolSource has the command then; or " + raise
	case policy.Approval == revision.Name:
		return "the approval of this revision is used up, and it counts once; if this is meant as well, " + raise
	}
	text := fmt.Sprintf(pruneRemedy+"%s; or %s", policy.approval(revision), raise)
	if policy.Approval != "" {
		text = fmt.Sprintf("the approval that the source has is of %s, and not of this revision; %s", quoteApproval(policy.Approval), text)
	}
	return text
}

// approval says how to approve the prune of a revision.
func (policy PrunePolicy) approval(revision Revision) string {
	return fmt.Sprintf("approve it for revision %s alone with: %s", quoteApproval(revision.Name), command.ApproveSource(revision.Source))
}

// maxApproval bounds what a message quotes of an approval, in characters. There
// is room for a revision, as a mistyped one has to be seen whole, and anything
// may stand there.
const maxApproval = 320

func quoteApproval(text string) string {
	return sanitize.Quote(sanitize.ClipRunes(text, maxApproval))
}
