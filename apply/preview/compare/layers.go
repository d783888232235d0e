package compare

import (
	"fmt"
	"slices"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/observe"
)

// LayersOf returns the layers that clusters read, by files that stand for them: those of
// the source of that name, or of the only one. Each list of layers is there once, and one
// without any stands for all of the folder.
func LayersOf(inventories []string, sourceName string) ([][]string, error) {
	var all [][]string
	for _, file := range inventories {
		state, err := observe.File(file)
		if err != nil {
			return nil, err
		}
		source, err := ChooseSource(state, sourceName)
		if err != nil {
			return nil, hint.Add(fmt.Errorf("inventory %s: %w", file, err), hint.Of(err))
		}
		var layers []string
		if source != nil {
			layers = source.Spec.Layers
		}
		if !slices.ContainsFunc(all, func(other []string) bool { return slices.Equal(other, layers) }) {
			all = append(all, layers)
		}
	}
	return all, nil
}
