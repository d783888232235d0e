// Package command writes the command lines that messages print. No message spells one by
// itself: other projects have kinds of the plural nodepools as well, and with their
// definitions in a cluster kubectl may take nodepools, or a short name, for theirs. Here
// resources are named in full.
package command

import (
	"regexp"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The resources, as kubectl takes them for ours alone.
const (
	Pools   = "nodepools." + v1.Domain
	Sources = "nodepoolsources." + v1.Domain
)

// Pool is a pool as an argument of kubectl.
func Pool(name string) string { return Pools + "/" + Word(name) }

// Source is a source as an argument of kubectl.
func Source(name string) string { return Sources + "/" + Word(name) }

// Approve shows what waits for an approval of a pool, asks, and approves just that.
func Approve(pool string) string { return "nodepools approve " + Word(pool) }

// ApproveSource does so for a source.
func ApproveSource(name string) string { return "nodepools approve source/" + Word(name) }

// Resume shows what of a pool is paused or halted, asks, and lets it go on.
func Resume(pool string) string { return "nodepools resume " + Word(pool) }

// Expedite shows which changes wait in the rollout of a pool, asks, and lets them go on outside
// its windows and waves.
func Expedite(pool string) string { return "nodepools expedite " + Word(pool) }

// Reconcile has the repository of a source polled now.
func Reconcile(source string) string { return "nodepools reconcile source/" + Word(source) }

// Annotate sets an annotation of objects of a resource.
func Annotate(resource, annotation, value string, names ...string) string {
	return "kubectl annotate --overwrite " + resource + words(names) + " " + annotation + "=" + Word(value)
}

// RemoveAnnotation takes an annotation off objects of a resource.
func RemoveAnnotation(resource, annotation string, names ...string) string {
	return "kubectl annotate " + resource + words(names) + " " + annotation + "-"
}

// ListPools prints all pools.
func ListPools() string { return "kubectl get " + Pools }

// ListSources prints all sources.
func ListSources() string { return "kubectl get " + Sources }

// Describe prints an object, which is named as kind/name, with its conditions.
func Describe(object string) string { return "kubectl describe " + object }

// EditPool opens a pool in an editor.
func EditPool(name string) string { return "kubectl edit " + Pool(name) }

// DeletePods deletes pods of a namespace, so that their owners create them anew. What follows
// a slash is no option of kubectl.
func DeletePods(namespace string, pods ...string) string {
	line := "kubectl delete --namespace " + Word(namespace)
	for _, pod := range pods {
		line += " " + Word("pod/"+pod)
	}
	return line
}

// RemoveRollouts takes spec.rollout off pools, as far as they exist.
func RemoveRollouts(names ...string) string {
	return "kubectl patch " + Pools + words(names) + ` --type=merge --patch '{"spec":{"rollout":null}}' || true`
}

// ApproveAllDeletions approves the deletion of every pool.
func ApproveAllDeletions() string {
	return "kubectl annotate --overwrite " + Pools + " --all " + v1.ApproveReleaseAnnotation + "=" + v1.DeletionApproval
}

// DeleteAllSources deletes every source.
func DeleteAllSources() string { return "kubectl delete " + Sources + " --all --wait=false" }

// DeleteAllPools deletes every pool.
func DeleteAllPools() string { return "kubectl delete " + Pools + " --all --wait=false" }

// AwaitAllDeleted waits until no pool and no source is left.
func AwaitAllDeleted() string {
	return "kubectl wait --for=delete " + Pools + "," + Sources + " --all --timeout=10m"
}

func words(texts []string) string {
	var line strings.Builder
	for _, text := range texts {
		line.WriteString(" " + Word(text))
	}
	return line.String()
}

// plain matches what every shell takes for one word as it is.
var plain = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9@:%+=,./_]*$`)

// Word writes a text so that a shell reads it as one word. What stands in a revision, a
// status or an annotation may have been written to be pasted into a shell.
func Word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
