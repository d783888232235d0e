package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	kjson "sigs.k8s.io/json"

	"github.com/nodepools/nodepools/api/sanitize"
)

// Bounds of a file. One of 5,000 nodes and 50,000 pods has some 3 MB; see also
// maxValues.
const (
	maxBytes = 32 << 20
	// MaxYAMLBytes is less, as YAML takes many times the memory.
	MaxYAMLBytes = 8 << 20
	maxNodes     = 200_000
)

// FileError is an error in an inventory file, with its line.
type FileError struct {
	// Line, from 1; 0 where it is the file as a whole.
	Line int
	Err  error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// Read reads an inventory file, in JSON as [Write] writes it or in YAML. It
// refuses unknown fields, with a [*FileError].
func Read(r io.Reader) (*Inventory, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	if len(data) > maxBytes {
		return nil, &FileError{Err: fmt.Errorf("the file is too large for an inventory: more than %d MiB", maxBytes>>20)}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 {
		return nil, &FileError{Err: errors.New("the file is empty")}
	} else if trimmed[0] != '{' {
		if data, err = yamlToJSON(data); err != nil {
			return nil, err
		}
	}
	if err := checkHeader(data); err != nil {
		return nil, err
	}
	return newReader(data).read()
}

// checkHeader checks that the text is JSON, and of a known version.
func checkHeader(data []byte) error {
	var header struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	err := kjson.UnmarshalCaseSensitivePreserveInts(data, &header)
	if isSyntax, offset := kjson.SyntaxErrorOffset(err); isSyntax {
		why := err.Error()
		if int(offset) >= len(data) {
			why = "the file ends before the inventory does"
		}
		return &FileError{lineAt(data, int(offset)), errors.New(why)}
	}
	switch {
	case err != nil:
		return &FileError{1, fieldError(err)}
	case header.Kind != Kind:
		return &FileError{1, fmt.Errorf("kind is %s, and has to be %s", quote(header.Kind), Kind)}
	case header.APIVersion != APIVersion:
		return &FileError{1, fmt.Errorf("apiVersion is %s, and this version of nodepools reads %s", quote(header.APIVersion), APIVersion)}
	}
	return nil
}

func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(offset, len(data))], []byte("\n"))
}

// goField finds in an error of the decoder the value and the field, as its package does
// not export the error's type.
var goField = regexp.MustCompile(`^json: cannot unmarshal (.*) into Go (?:struct field [^.]*\.(\S*)|value) of type (\S+)$`)

// fieldError rewrites an error about a value of a wrong type without the types
// of the program.
func fieldError(err error) error {
	found := goField.FindStringSubmatch(err.Error())
	switch {
	case found == nil:
		return errors.New(clip(err.Error()))
	case found[2] == "":
		return fmt.Errorf("there is a wrong %s", clip(found[1]))
	default:
		return fmt.Errorf("%s cannot be a %s", clip(found[2]), clip(found[1]))
	}
}

// maxShown bounds what an error quotes of a file, in bytes.
const maxShown = 100

func clip(text string) string { return sanitize.Clip(text, maxShown) }

func quote(text string) string { return sanitize.Quote(clip(text)) }
