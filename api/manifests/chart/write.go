package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// commentWidth is that of comments, without what stands before them.
const commentWidth = 84

// valuesFile writes the defaults, each below what it is.
func valuesFile(values []value) ([]byte, error) {
	file := bytes.NewBufferString("# Written by make generate. values.schema.json refuses what is not here.\n")
	err := writeValues(file, "", values)
	return file.Bytes(), err
}

func writeValues(file *bytes.Buffer, indent string, values []value) error {
	for _, v := range values {
		if indent == "" {
			file.WriteString("\n")
		}
		for _, line := range lines(v.doc) {
			fmt.Fprintf(file, "%s# %s\n", indent, line)
		}
		if v.fields != nil {
			fmt.Fprintf(file, "%s%s:\n", indent, v.name)
			if err := writeValues(file, indent+"  ", v.fields); err != nil {
				return err
			}
			continue
		}
		text, err := yaml.Marshal(map[string]any{v.name: v.fallback})
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			file.WriteString(indent + line)
		}
	}
	return nil
}

// lines breaks a text where it is wide.
func lines(text string) []string {
	var all []string
	for _, word := range strings.Fields(text) {
		if last := len(all) - 1; last >= 0 && len(all[last])+len(word) < commentWidth {
			all[last] += " " + word
			continue
		}
		all = append(all, word)
	}
	return all
}

// readmeFile lists the values.
func readmeFile(values []value) ([]byte, error) {
	file := bytes.NewBufferString(`# The chart of nodepools

Written by ` + "`make generate`" + ` from the objects that ` + "`nodepools install`" + ` prints. How to install,
upgrade and uninstall it is in [Installing](../../docs/install.md#with-helm).

| value | default | |
|---|---|---|
`)
	if err := writeRows(file, "", values); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

func writeRows(file *bytes.Buffer, path string, values []value) error {
	for _, v := range values {
		if v.fields != nil {
			if err := writeRows(file, path+v.name+".", v.fields); err != nil {
				return err
			}
			continue
		}
		fallback, err := json.Marshal(v.fallback)
		if err != nil {
			return err
		}
		shown := "`" + string(fallback) + "`"
		if len(fallback) > 40 {
			shown = "in [values.yaml](values.yaml)"
		}
		fmt.Fprintf(file, "| `%s%s` | %s | %s |\n", path, v.name, shown, v.doc)
	}
	return nil
}
