package form

import (
	"slices"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// Notes are what is to be said beside a document that is no text: text has it where it
// is read, and the others where programs look for it. They are those on a base that no
// source would take, and others that the caller has.
func Notes(form string, compared review.Compared, others []string) []string {
	if compared.BrokenBase == nil || form == Text {
		return others
	}
	return slices.Concat([]string{compared.BrokenText()}, compared.BrokenBase.List(), others)
}

// NotesOfClusters are the notes of all clusters: those that hold for each of them once,
// and others after the name of the cluster.
func NotesOfClusters(form string, r *review.Reviews) []string {
	var notes []string
	if form != Text {
		notes = append(notes, r.Notes...)
	}
	clusters := 0
	count := map[string]int{}
	for _, cluster := range r.Clusters {
		if cluster.Review != nil {
			clusters++
			for _, note := range cluster.Review.Notes {
				count[note]++
			}
		}
	}
	for _, cluster := range r.Clusters {
		if cluster.Review == nil {
			continue
		}
		for _, note := range Notes(form, cluster.Review.Compared, cluster.Review.Notes) {
			switch {
			case clusters == 1 || count[note] < clusters:
				notes = append(notes, review.Word(cluster.Name)+": "+note)
			case !slices.Contains(notes, note):
				notes = append(notes, note)
			}
		}
	}
	return notes
}
