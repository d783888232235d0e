package compare

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/render"
)

// Clusters reviews a change in several clusters, each by itself and as it would be alone.
// A cluster is an inventory file, of which sides makes the comparison. One that cannot be
// compared hides nothing of the others: it is an error only where it is the same for all.
func Clusters(files []string, sides func(file string) (*Sides, error)) (*review.Reviews, error) {
	files = slices.Sorted(slices.Values(files)) // the result does not depend on their order
	names, err := clusterNames(files)
	if err != nil {
		return nil, err
	}
	var clusters []review.Cluster
	var failures []error
	var known inventories
	for i, file := range files {
		cluster := review.Cluster{Name: names[i], Inventory: file}
		if cluster.Review, err = reviewIn(names[i], file, &known, sides); err != nil {
			cluster.Failure = failureOf(err)
			failures = append(failures, err)
		}
		clusters = append(clusters, cluster)
	}
	if len(failures) == len(files) && same(failures) {
		return nil, failures[0]
	}
	return review.OfClusters(clusters, known.notes()), nil
}

// same reports whether errors have one text.
func same(errs []error) bool {
	for _, err := range errs {
		if err.Error() != errs[0].Error() {
			return false
		}
	}
	return true
}

// clusterNames returns what clusters are called by their inventories: by the name of the
// file, or by its path where that is the name of several.
func clusterNames(files []string) ([]string, error) {
	var infos []os.FileInfo
	used := map[string]int{}
	for i, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			info = nil // reading it will say so
		}
		for j, earlier := range infos {
			if filepath.Clean(files[j]) == filepath.Clean(file) || info != nil && earlier != nil && os.SameFile(info, earlier) {
				return nil, &SameInventoryError{files[j], files[i]}
			}
		}
		infos = append(infos, info)
		used[baseName(file)]++
	}
	names := make([]string, len(files))
	for i, file := range files {
		if names[i] = baseName(file); used[names[i]] > 1 {
			names[i] = filepath.ToSlash(filepath.Clean(file))
		}
	}
	return names, nil
}

// baseName is the name of a file without its extension.
func baseName(file string) string {
	base := filepath.Base(file)
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return name
	}
	return base
}

// SameInventoryError says that an inventory is there twice.
type SameInventoryError struct{ First, Second string }

func (e *SameInventoryError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("the inventory %s is there twice", e.First)
	}
	return fmt.Sprintf("the inventories %s and %s are one file", e.First, e.Second)
}

// reviewIn reviews the change in one cluster.
func reviewIn(name, file string, known *inventories, sides func(string) (*Sides, error)) (*review.Review, error) {
	s, err := sides(file)
	if err != nil {
		return nil, err
	}
	known.add(name, s)
	difference, err := s.Difference()
	if err != nil {
		return nil, err
	}
	return s.Review(difference)
}

// maxFailureProblems is how many problems of a cluster's pools a review names.
const maxFailureProblems = 10

func failureOf(err error) *review.Failure {
	failure := &review.Failure{Message: err.Error(), Problems: []string{}, Remedy: hint.Of(err)}
	problems := render.Problems(nil)
	if !errors.As(err, &problems) {
		return failure
	}
	for _, problem := range problems[:min(len(problems), maxFailureProblems)] {
		text := problem.String()
		if problem.Hint != "" {
			text += "; " + problem.Hint
		}
		failure.Problems = append(failure.Problems, text)
	}
	failure.MoreProblems = problems[len(failure.Problems):].Count()
	return failure
}
