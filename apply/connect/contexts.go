package connect

import (
	"maps"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
)

// Contexts returns the names of the contexts that a kubeconfig file has, sorted, or those
// of the files that kubectl reads where path is empty. There are none where they cannot be
// read: it is for who has no place for an error.
func Contexts(path string) []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	rules.WarnIfAllMissing = false
	loaded, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(loaded.Contexts))
}
