package examples

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/crds"
	"github.com/nodepools/nodepools/testdata/docs"
)

// stateMetrics is what is in the configuration of kube-state-metrics. What is not in it is
// not used there.
type stateMetrics struct {
	Kind string `json:"kind"`
	Spec struct {
		Resources []stateResource `json:"resources"`
	} `json:"spec"`
}

type stateResource struct {
	GroupVersionKind struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"groupVersionKind"`
	Prefix         string              `json:"metricNamePrefix"`
	LabelsFromPath map[string][]string `json:"labelsFromPath"`
	ErrorLogV      int                 `json:"errorLogV"`
	Metrics        []stateMetric       `json:"metrics"`
}

type stateMetric struct {
	Name string `json:"name"`
	Help string `json:"help"`
	Each struct {
		Type  string      `json:"type"`
		Gauge stateValues `json:"gauge"`
		Info  stateValues `json:"info"`
	} `json:"each"`
}

type stateValues struct {
	Path           []string            `json:"path"`
	ValueFrom      []string            `json:"valueFrom"`
	LabelsFromPath map[string][]string `json:"labelsFromPath"`
	LabelFromKey   string              `json:"labelFromKey"`
	NilIsZero      bool                `json:"nilIsZero"`
}

func readStateMetrics(t *testing.T) stateMetrics {
	t.Helper()
	var config stateMetrics
	if err := yaml.UnmarshalStrict(monitoring(t, "kube-state-metrics.yaml"), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Spec.Resources) != 2 {
		t.Fatalf("metrics of %d resources, want those of pools and sources", len(config.Spec.Resources))
	}
	return config
}

// Each path of the configuration leads to a field that the objects have: one that leads
// nowhere would be a metric that is never there, and no error.
func TestStateMetricsReadFieldsThatExist(t *testing.T) {
	for _, resource := range readStateMetrics(t).Spec.Resources {
		schema := schemaOf(t, resource)
		check := func(name string, path []string) {
			if err := leads(schema, path); err != nil {
				t.Errorf("%s_%s: %v: %v", resource.Prefix, name, path, err)
			}
		}
		for label, path := range resource.LabelsFromPath {
			check(label, path)
		}
		for _, metric := range resource.Metrics {
			for _, values := range []stateValues{metric.Each.Gauge, metric.Each.Info} {
				check(metric.Name, slices.Concat(values.Path, values.ValueFrom))
				for _, path := range values.LabelsFromPath {
					check(metric.Name, slices.Concat(values.Path, path))
				}
			}
		}
	}
}

// A path that leads nowhere is found.
func TestPathsThatLeadNowhere(t *testing.T) {
	schema := schemaOf(t, readStateMetrics(t).Spec.Resources[0])
	for _, path := range [][]string{{"status", "node"}, {"status", "nodes", "desired", "more"}, {"status", "conditions", "kind"}, {"metadata", "owner"}} {
		if leads(schema, path) == nil {
			t.Errorf("%v is taken", path)
		}
	}
}

// schemaOf returns the schema of what metrics are made of.
func schemaOf(t *testing.T, resource stateResource) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	of := resource.GroupVersionKind
	for _, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			if definition.Spec.Group == of.Group && definition.Spec.Names.Kind == of.Kind && version.Name == of.Version {
				return version.Schema.OpenAPIV3Schema
			}
		}
	}
	t.Fatalf("there is no %+v", of)
	return nil
}

// metadataFields are those that metrics are made of; schemas do not describe them.
var metadataFields = map[string]bool{"name": true, "uid": true, "generation": true, "deletionTimestamp": true, "labels": true, "annotations": true}

// leads reports why a path leads to no field. Of a list, the fields of its items are meant.
func leads(schema *apiextensionsv1.JSONSchemaProps, path []string) error {
	if len(path) > 1 && path[0] == "metadata" {
		if !metadataFields[path[1]] {
			return errors.New("no such metadata")
		}
		return nil
	}
	for _, step := range path {
		if schema.Items != nil {
			schema = schema.Items.Schema
		}
		field, known := schema.Properties[step]
		if !known {
			return fmt.Errorf("there is no field %s", step)
		}
		schema = &field
	}
	return nil
}

// The marks between which docs/metrics.md is made of the configuration.
const (
	stateBegin = "<!-- kube-state-metrics: made by go test ./examples -update, not by hand -->\n"
	stateEnd   = "<!-- kube-state-metrics: end -->\n"
)

// Each metric of the configuration has its row in the documentation.
func TestStateMetricsAreDocumented(t *testing.T) {
	var want strings.Builder
	want.WriteString("| metric | labels | what it is |\n|---|---|---|\n")
	for _, resource := range readStateMetrics(t).Spec.Resources {
		for _, metric := range resource.Metrics {
			if metric.Help == "" {
				t.Errorf("%s_%s has no help text", resource.Prefix, metric.Name)
			}
			labels := slices.Sorted(maps.Keys(resource.LabelsFromPath))
			labels = append(labels, slices.Sorted(maps.Keys(metric.Each.Info.LabelsFromPath))...)
			labels = append(labels, slices.Sorted(maps.Keys(metric.Each.Gauge.LabelsFromPath))...)
			if key := metric.Each.Gauge.LabelFromKey; key != "" {
				labels = append(labels, key)
			}
			fmt.Fprintf(&want, "| `%s_%s` | `%s` | %s |\n", resource.Prefix, metric.Name, strings.Join(labels, "`, `"), metric.Help)
		}
	}
	page := docs.Read(t, "docs/metrics.md")
	before, rest, begins := strings.Cut(page.Text, stateBegin)
	table, after, ends := strings.Cut(rest, stateEnd)
	if !begins || !ends {
		t.Fatalf("docs/metrics.md has no place for the metrics between %q and %q", stateBegin, stateEnd)
	}
	if *update {
		file := filepath.Join(docs.Root(t), "docs", "metrics.md")
		if err := os.WriteFile(file, []byte(before+stateBegin+want.String()+stateEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want.String() {
		t.Errorf("docs/metrics.md is not what the configuration says; go test ./examples -update:\n%s", &want)
	}
}
