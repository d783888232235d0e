// Package chart builds the Helm chart of nodepools from the objects of package
// manifests, which nodepools install prints as well: so the two cannot disagree. Start
// with [Files].
//
// An object becomes a template in three steps: it is marshalled as it is, with a marker
// in the place of whatever is a value; what was in that place is the default of the
// value; and markers become expressions. Nothing is written in a template by hand, and
// what is added to an object of package manifests is in the chart without further ado.
//
// It is a package of the product, and not of cmd/publish, because that module imports
// nothing of the product: it packages the chart that is committed in charts/nodepools,
// which cmd/chart writes.
package chart

import (
	_ "embed"
	"fmt"
	"maps"

	"github.com/nodepools/nodepools/api/manifests"
)

const (
	// Version of the chart in a working tree, and tag of the image unless a value names
	// another. A release replaces both.
	chartVersion = "0.0.0-devel"
	appVersion   = "devel"

	// kubeVersion is written so that it takes what is built before a release, too, as the
	// versions of some providers are.
	kubeVersion = ">=" + manifests.OldestKubernetes + "-0"
)

//go:embed notes.txt
var notes []byte

// Files returns the files of the chart by their paths in its folder.
func Files() (map[string][]byte, error) {
	b := &builder{defaults: map[string]any{}}
	files, err := b.templates()
	if err != nil {
		return nil, err
	}
	values := b.values()
	schema, err := schemaFile(values)
	if err != nil {
		return nil, err
	}
	defaults, err := valuesFile(values)
	if err != nil {
		return nil, err
	}
	readme, err := readmeFile(values)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, map[string][]byte{
		"Chart.yaml":          chartFile(),
		"values.yaml":         defaults,
		"values.schema.json":  schema,
		"README.md":           readme,
		"templates/NOTES.txt": notes,
	})
	return files, nil
}

func chartFile() []byte {
	return fmt.Appendf(nil, `# Written by make generate.
apiVersion: v2
name: %s
description: GitOps for the node pools of a cluster
type: application
version: %s
appVersion: %s
kubeVersion: %q
home: https://github.com/nodepools/nodepools
sources:
- https://github.com/nodepools/nodepools
`, manifests.Name, chartVersion, appVersion, kubeVersion)
}
