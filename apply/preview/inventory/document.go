package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/render"
)

// Document returns the file of an inventory as json, or as yaml, where it is not too large
// to be read again. There is nothing in it that a terminal would obey: it is looked at as
// a change in Git, too.
func Document(inv *Inventory, format string) ([]byte, error) {
	var text bytes.Buffer
	if err := Write(&text, inv); err != nil {
		return nil, err
	}
	if format == "json" {
		return []byte(sanitize.JSON(text.String())), nil
	}
	var document bytes.Buffer
	large := text.Len() > MaxYAMLBytes
	if !large {
		if err := render.WriteYAML(&document, json.RawMessage(text.Bytes())); err != nil {
			return nil, err
		}
		large = document.Len() > MaxYAMLBytes
	}
	if large {
		return nil, hint.Add(
			fmt.Errorf("the inventory is too large for YAML: more than %d MiB", MaxYAMLBytes>>20),
			"write it as JSON: leave --output out",
		)
	}
	return document.Bytes(), nil
}
