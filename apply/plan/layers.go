package plan

import (
	"encoding/json"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// layersText returns the value of [v1.LayersAnnotation], empty where no later layer
// set anything. What a layer removed is not in the pool, and is left out.
func layersText(changes []render.Change) string {
	byFile := map[string][]string{}
	for _, change := range changes {
		if !change.Removed {
			byFile[change.File] = append(byFile[change.File], change.Field)
		}
	}
	if len(byFile) == 0 {
		return ""
	}
	text, err := json.Marshal(byFile)
	if err != nil {
		return "" // a map of texts always has one
	}
	return string(text)
}

// LayerFiles returns the files of the fields of a pool that a later layer than that of
// its definition set, by the path of the field. An annotation that cannot be read, as
// somebody has changed it, names none.
func LayerFiles(pool *v1.NodePool) map[string]string {
	byFile := map[string][]string{}
	if json.Unmarshal([]byte(pool.Annotations[v1.LayersAnnotation]), &byFile) != nil {
		return nil
	}
	files := map[string]string{}
	for file, fields := range byFile {
		for _, field := range fields {
			files[field] = file
		}
	}
	return files
}

// PathIn returns the path that a label, an annotation or a taint has in a pool.
func (f Field) PathIn(key string) string {
	return "spec." + map[Field]string{Label: "labels", Annotation: "annotations", Taint: "taints"}[f] + "[" + key + "]"
}
