package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unread has the fields of a document that have no value because they could not
// be read. Errors of validation about these, and about fields that seem to be
// missing around them, follow from that.
type unread struct {
	// fields has true for one that was probably written under another name: it may
	// also be present under its own.
	fields map[string]bool
	// lacking are the fields with content that could not be read.
	lacking map[string]bool
}

func newUnread() unread { return unread{fields: map[string]bool{}, lacking: map[string]bool{}} }

// add records a field that could not be read.
func (u unread) add(path string, misspelt bool) {
	if of, known := u.fields[path]; !known || of {
		u.fields[path] = misspelt
	}
	u.lack(path)
}

// lack records a field with content that could not be read.
func (u unread) lack(path string) {
	for prefix := range prefixes(path) {
		u.lacking[prefix] = true
	}
}

// explains reports whether an error of validation only follows from a field
// that could not be read.
func (u unread) explains(err *field.Error) bool {
	missing := err.Type == field.ErrorTypeRequired || err.Type == field.ErrorTypeNotSupported && fmt.Sprint(err.BadValue) == ""
	for prefix := range prefixes(err.Field) {
		if misspelt, found := u.fields[prefix]; found && (missing || !misspelt) {
			return true
		}
	}
	return missing && u.lacking[err.Field]
}

// maxContainerPath is longer than the path of any field that has fields.
const maxContainerPath = 100

// prefixes yields a path and those of the enclosing fields. A key in brackets
// has no fields, however long it is.
func prefixes(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !yield("") {
			return
		}
		for i := 1; i < min(len(path), maxContainerPath); i++ {
			if (path[i] == '.' || path[i] == '[') && !yield(path[:i]) {
				return
			}
		}
		if path != "" {
			yield(path)
		}
	}
}
