package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/impact"
)

// whenDeleted returns when a taint deletes the pods of an eviction: "at once, when the drain
// has ended".
func whenDeleted(of impact.Eviction) string {
	stay := "at once"
	if of.AfterSeconds > 0 {
		stay = fmt.Sprintf("after %d s", of.AfterSeconds)
	}
	switch {
	case of.Drain != nil:
		stay = fmt.Sprintf("after %d s, and none is evicted before, %s", of.Drain.TimeoutSeconds, obstructed)
	case of.AfterDrain:
		stay += ", when the drain has ended"
	}
	return stay
}

// obstructed is why pods are not evicted before a taint comes.
const obstructed = "as a NoSchedule taint of another value would let them come again"

// whenStaying returns what becomes of the taint where pods are not evicted: "Hold: the taint
// waits for their eviction".
func whenStaying(drain *impact.Drain) string {
	if drain.Obstructed && !drain.Forced() {
		return "Hold: the taint waits, and none is evicted, " + obstructed
	}
	when := "Hold: the taint waits for their eviction"
	if drain.Forced() {
		when = fmt.Sprintf("Force: the taint deletes those left after %d s", drain.TimeoutSeconds)
	}
	if drain.ComesAgain {
		when += "; they may come again, as they tolerate NoSchedule, and not NoExecute"
	}
	return when
}

// lost returns how many pods of a PodDisruptionBudget go.
func lost(of impact.Budget) string {
	goes := "go"
	if of.Lost == 1 {
		goes = "goes"
	}
	why := fmt.Sprintf("%s %s%s, and it allows %d", Count(of.Lost, "healthy pod"), goes, among(of.Drained, of.Lost, "drained"), of.Allowed)
	if of.Unhealthy > 0 {
		why += fmt.Sprintf("; %s not counted", Count(of.Unhealthy, "unhealthy pod"))
	}
	return why
}

// blocked returns for which pods a drain waits for a budget, and what comes of that.
func blocked(of impact.Budget) string {
	var parts []string
	if n := len(of.Waiting); n > 0 {
		parts = append(parts, fmt.Sprintf("it allows none, and the drain of %s waits for it", Count(n, "pod")))
	}
	if n := len(of.Undrainable); n > 0 {
		parts = append(parts, fmt.Sprintf("%s cannot be evicted, as another PodDisruptionBudget has %s, too", Count(n, "pod"), them(n)))
	}
	switch n := len(of.Waiting) + len(of.Undrainable); of.Forced {
	case 0:
		parts = append(parts, "Hold: the taint does not come, and NoSchedule stands in its place")
	case n:
		parts = append(parts, fmt.Sprintf("Force: the taint deletes %s after the timeout", them(n)))
	default:
		parts = append(parts, fmt.Sprintf("Force: the taint deletes %d of them after the timeout", of.Forced))
	}
	return strings.Join(parts, "; ")
}

// among returns how many of some pods something is said of: nothing for none.
func among(n, of int, what string) string {
	switch n {
	case 0:
		return ""
	case of:
		return ", " + what
	}
	return fmt.Sprintf(", %d of them %s", n, what)
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// blocking are, by node, the budgets for which the drain of a pod there waits, as
// namespace/name.
func blocking(i *impact.Impact) map[string][]string {
	budgets := map[string][]string{}
	for _, budget := range i.Budgets {
		for _, pods := range [][]impact.Pod{budget.Waiting, budget.Undrainable} {
			for _, pod := range pods {
				budgets[pod.Node] = append(budgets[pod.Node], budget.Namespace+"/"+budget.Name)
			}
		}
	}
	return budgets
}

// maxBlocking is how many budgets the line of a wave names.
const maxBlocking = 3

// blockedBy returns which budgets block the drains of a wave.
func (w RolloutWave) blockedBy() string {
	names := words(w.BudgetsBlocking[:min(len(w.BudgetsBlocking), maxBlocking)])
	if more := len(w.BudgetsBlocking) - maxBlocking; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	noun := "PodDisruptionBudget"
	if len(w.BudgetsBlocking) > 1 {
		noun += "s"
	}
	if last := len(names) - 1; last > 0 {
		return fmt.Sprintf("blocked by %s %s and %s", noun, strings.Join(names[:last], ", "), names[last])
	}
	return fmt.Sprintf("blocked by %s %s", noun, names[0])
}

func words(texts []string) []string {
	written := slices.Clone(texts)
	for i, text := range written {
		namespace, name, _ := strings.Cut(text, "/")
		written[i] = Word(namespace) + "/" + Word(name)
	}
	return written
}
