package review

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// Line is one line of what changes in an object, or on a node.
type Line struct {
	// Sign is + for an added line, - for a removed one, ~ for another value, a
	// space for context, and … for omitted lines.
	Sign rune
	Text string
}

// The signs of lines.
const (
	Added   = '+'
	Removed = '-'
	Changed = '~'
	Around  = ' '
	Omitted = '…'
)

// Happened returns the past participle of an action.
func Happened(action plan.Action) string {
	switch action {
	case plan.Create:
		return "created"
	case plan.Update:
		return "changed"
	case plan.Replace:
		return "replaced"
	case plan.Delete:
		return "deleted"
	}
	return string(action)
}

// Lines returns the lines in which an object changes, with some context; all
// lines of one that is created or deleted. What the controller keeps on objects
// for itself is omitted: the owner, the finalizer, the revision, an approval, which no file can
// say; and the file of a pool where [Object.Place] has it.
func (o Object) Lines() []Line {
	var lines []Line
	before, after := o.written(o.Before), o.written(o.After)
	if bytes.Equal(before, after) && o.Action == plan.Update {
		// Nothing but that changes.
		before, after = asYAML(o.Before), asYAML(o.After)
	}
	compared := string(diff.Diff("", before, "", after))
	hunks := 0
	for line := range strings.Lines(compared) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "@@"):
			// The line numbers are those of no file.
			if hunks++; hunks > 1 {
				lines = append(lines, Line{Sign: Omitted})
			}
		case hunks > 0 && line != "":
			lines = append(lines, Line{Sign: rune(line[0]), Text: Visible(line[1:])})
		}
	}
	return lines
}

// Place is where the head defines a pool: "pools/gpu.yaml:7". Empty where it does not.
func (o Object) Place() string {
	if o.File == "" || o.Line == 0 {
		return o.File
	}
	return o.File + ":" + strconv.Itoa(o.Line)
}

// bookkeeping are the annotations that the controller alone writes on a pool.
var bookkeeping = []string{v1.RevisionAnnotation, v1.SourceUIDAnnotation, v1.LayersAnnotation, v1.RevisionNumberAnnotation}

// written returns an object as YAML, and nothing for nil.
func (o Object) written(object map[string]any) []byte {
	if object == nil {
		return nil
	}
	object = runtime.DeepCopyJSON(object)
	for _, name := range []string{"ownerReferences", "finalizers"} {
		unstructured.RemoveNestedField(object, "metadata", name)
	}
	if annotations, found, _ := unstructured.NestedMap(object, "metadata", "annotations"); found {
		maps.DeleteFunc(annotations, func(key string, _ any) bool {
			return slices.Contains(bookkeeping, key) || key == v1.FileAnnotation && o.File != ""
		})
		if len(annotations) == 0 {
			unstructured.RemoveNestedField(object, "metadata", "annotations")
		} else if err := unstructured.SetNestedMap(object, annotations, "metadata", "annotations"); err != nil {
			return []byte(err.Error() + "\n")
		}
	}
	return asYAML(object)
}

func asYAML(object map[string]any) []byte {
	var text bytes.Buffer
	if err := render.WriteYAML(&text, object); err != nil {
		return []byte(err.Error() + "\n")
	}
	return text.Bytes()
}

// Lines returns what changes on the nodes, a line for each key.
func (n Nodes) Lines() []Line {
	lines := make([]Line, 0, len(n.Changes))
	for _, change := range n.Changes {
		line := Line{Sign: Changed}
		switch {
		case change.Before == nil && change.After != nil:
			line.Sign, line.Text = Added, Written(change.Field, change.Key, *change.After)
		case change.After == nil && change.Before != nil:
			line.Sign, line.Text = Removed, Written(change.Field, change.Key, *change.Before)
		case change.Before != nil && change.After != nil:
			line.Text = Written(change.Field, change.Key, *change.Before) + " -> " + Value(change.Field, *change.After)
		}
		why := "pool " + Word(change.Pool) // of a record that anybody may have written
		if change.Drift {
			why += ", put back"
		}
		line.Text = fmt.Sprintf("%s %s  (%s)", change.Field, line.Text, why)
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = append(lines, Line{Changed, fmt.Sprintf("annotation %s  (whose each key is)", v1.AppliedAnnotation)})
	}
	return lines
}
