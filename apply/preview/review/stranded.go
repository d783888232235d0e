package review

import (
	"fmt"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

// strandedBy says why pods never get a node.
func strandedBy(s impact.Stranded) string {
	return fmt.Sprintf("created with what RuntimeClass %s says now, before the change", Word(s.RuntimeClass))
}

// strandedAdvice says what to do about stranded pods; its command is empty where none does.
func strandedAdvice(s impact.Stranded) (advice, command string) {
	defer func() {
		if kind := s.Workload.Kind; command != "" && (kind == "Job" || kind == "CronJob") {
			advice += "; " + plan.JobsCount
		}
	}()
	switch {
	case s.NotRecreated:
		return "delete it, and create it anew: it has no controller", ""
	case s.Remedy == "":
		return "change the workload: pods that name the RuntimeClass are refused", ""
	case s.NoFeasibleNode:
		return "when the change is carried out, have them created anew; no node is feasible for the next pod now", s.Remedy
	default:
		return "when the change is carried out, have them created anew", s.Remedy
	}
}
