package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

func writePool(w io.Writer, c *comparison, change plan.PoolChange) error {
	fmt.Fprintf(w, "\nNodePool %s %s\n", change.Name, happened[change.Action])
	return writeYAMLDiff(w, shownPool(c, change.Live, change), shownPool(c, change.Want, change))
}

// shownPool is as much of a pool as comes from a file. What others have put on
// the pool in the cluster is not shown, for it stays: keys that the wanted pool
// lacks and that are there afterwards. Nor is the revision, which a folder does
// not have.
func shownPool(c *comparison, pool *v1.NodePool, change plan.PoolChange) any {
	if pool == nil {
		return nil
	}
	shown := &v1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: v1.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: pool.Name, Labels: maps.Clone(pool.Labels), Annotations: maps.Clone(pool.Annotations)},
		Spec:       pool.Spec,
	}
	if want, after := change.Want, change.After(); want != nil {
		foreign := func(planned, left map[string]string) func(string, string) bool {
			return func(key, _ string) bool {
				_, ours := planned[key]
				_, stays := left[key]
				return !ours && stays
			}
		}
		maps.DeleteFunc(shown.Labels, foreign(want.Labels, after.Labels))
		maps.DeleteFunc(shown.Annotations, foreign(want.Annotations, after.Annotations))
	}
	delete(shown.Annotations, v1.RevisionAnnotation)
	delete(shown.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if c.source == "" {
		delete(shown.Labels, v1.SourceLabel)
		delete(shown.Annotations, v1.FileAnnotation)
	}
	return shown
}

func writeRuntimeClass(w io.Writer, change plan.RuntimeClassChange) error {
	fmt.Fprintf(w, "\nRuntimeClass %s %s\n", change.Name(), happened[change.Action])
	if change.Action == plan.Replace {
		wrap(w, "  ", "Its handler is immutable, so it is deleted and created again. Pods that run are not affected; pods that are created in the gap are refused.")
	}
	return writeYAMLDiff(w, shownRuntimeClass(change.Live), shownRuntimeClass(change.Want))
}

// shownRuntimeClass is as much of a RuntimeClass as pools decide.
func shownRuntimeClass(class *nodev1.RuntimeClass) any {
	if class == nil {
		return nil
	}
	return &nodev1.RuntimeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: nodev1.SchemeGroupVersion.String(), Kind: "RuntimeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: class.Name},
		Handler:    class.Handler,
		Scheduling: class.Scheduling,
	}
}

// writeYAMLDiff writes the lines that differ with a little of what stands around
// them; nil stands for no object.
func writeYAMLDiff(w io.Writer, before, after any) error {
	texts := [2]bytes.Buffer{}
	for i, object := range []any{before, after} {
		if object == nil {
			continue
		}
		if err := render.WriteYAML(&texts[i], object); err != nil {
			return err
		}
	}
	compared := string(diff.Diff("", texts[0].Bytes(), "", texts[1].Bytes()))
	hunks := 0
	for line := range strings.Lines(compared) {
		switch {
		case strings.HasPrefix(line, "@@"):
			// The numbers are those of lines that stand in no file.
			if hunks++; hunks > 1 {
				fmt.Fprintln(w, "    ...")
			}
		case hunks > 0:
			fmt.Fprint(w, "  ", line)
		}
	}
	return nil
}
