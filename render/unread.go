package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unread is the fields of a document that have no value because they could not be
// read. What validation says of them, and of what seems to be missing around them,
// follows from that.
type unread struct {
	// fields has true for one that was probably written under another name: it may
	// be there under its own as well.
	fields map[string]bool
	// lacking are the fields that have something in them which could not be read.
	lacking map[string]bool
}

func newUnread() unread { return unread{fields: map[string]bool{}, lacking: map[string]bool{}} }

// add takes down a field that could not be read.
func (u unread) add(path string, misspelt bool) {
	if of, known := u.fields[path]; !known || of {
		u.fields[path] = misspelt
	}
	u.lack(path)
}

// lack takes down a field in which something could not be read.
func (u unread) lack(path string) {
	for prefix := range prefixes(path) {
		u.lacking[prefix] = true
	}
}

// explains reports whether an error of validation only says again that a field could
// not be read.
func (u unread) explains(err *field.Error) bool {
	missing := err.Type == field.ErrorTypeRequired || err.Type == field.ErrorTypeNotSupported && fmt.Sprint(err.BadValue) == ""
	for prefix := range prefixes(err.Field) {
		if misspelt, found := u.fields[prefix]; found && (missing || !misspelt) {
			return true
		}
	}
	return missing && u.lacking[err.Field]
}

// maxContainerPath is longer than the path of any field that has fields in it.
const maxContainerPath = 100

// prefixes yields a path and those of the fields that it is in. A key in brackets
// has nothing in it, however long it is.
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
