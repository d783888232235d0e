package inventory

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// maxBytes bounds a file. One of 5,000 nodes and 50,000 pods has some 30 MB.
const maxBytes = 256 << 20

var scheme = NewScheme()

// NewScheme returns the scheme of all kinds that an inventory has.
func NewScheme() *runtime.Scheme {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, nodev1.AddToScheme, v1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, policyv1.AddToScheme,
	} {
		utilruntime.Must(add(known))
	}
	return known
}

// FileError is an error in an inventory file, with its line.
type FileError struct {
	// Line, from 1; 0 where it is the file as a whole, and in YAML.
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
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) == 0 {
		return nil, &FileError{Err: errors.New("the file is empty")}
	}
	if data[0] == '{' {
		return readList(data, true)
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	first, err := documents.Read()
	if err != nil {
		return nil, &FileError{Err: errors.New(clip(err.Error()))}
	}
	if _, err := documents.Read(); !errors.Is(err, io.EOF) {
		return nil, &FileError{Err: errors.New("the file has more than one YAML document")}
	}
	if data, err = yaml.YAMLToJSONStrict(first); err != nil {
		return nil, &FileError{Err: errors.New(clip(err.Error()))}
	}
	return readList(data, false)
}

// list is a List of the API, whose items are read one by one.
type list struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

// readList reads the text of a List. Errors name lines where that has any.
func readList(data []byte, lines bool) (*Inventory, error) {
	lineAt := func(offset int) int {
		if !lines {
			return 0
		}
		return 1 + bytes.Count(data[:min(offset, len(data))], []byte("\n"))
	}
	var read list
	err := kjson.UnmarshalCaseSensitivePreserveInts(data, &read)
	if isSyntax, offset := kjson.SyntaxErrorOffset(err); isSyntax {
		why := err.Error()
		if int(offset) >= len(data) {
			why = "the file ends before the inventory does"
		}
		return nil, &FileError{lineAt(int(offset)), errors.New(why)}
	}
	if err != nil || read.Kind != "List" || read.APIVersion != "v1" || len(read.Items) == 0 {
		return nil, &FileError{lineAt(0), errors.New("the file is not an inventory, which is a List of v1")}
	}
	first, err := readHeader(read.Items[0])
	if err != nil {
		return nil, &FileError{lineAt(bytes.Index(data, read.Items[0])), err}
	}
	var builder Builder
	seen, end := map[string]bool{}, 0
	for i, item := range read.Items {
		at := end + bytes.Index(data[end:], item)
		end = at + len(item)
		if i == 0 {
			continue
		}
		if err := builder.read(item, seen); err != nil {
			return nil, &FileError{lineAt(at), fmt.Errorf("items[%d]: %w", i, err)}
		}
	}
	inv := builder.Inventory(first.Taken)
	if first.WithoutPods {
		inv.Pods, inv.Waiting, inv.Workloads, inv.Budgets = nil, nil, nil, nil
	}
	return inv, nil
}

// readHeader reads the first object of a file. A file of another version is refused:
// fields that are not understood could matter.
func readHeader(item []byte) (header, error) {
	var first header
	strict, err := kjson.UnmarshalStrict(item, &first)
	switch {
	case err != nil || first.Kind != Kind:
		return first, errors.New("the List is not an inventory: its first item has to be of the kind " + Kind)
	case first.APIVersion != APIVersion:
		return first, fmt.Errorf("apiVersion is %s, and this version of nodepools reads %s", quote(first.APIVersion), APIVersion)
	case len(strict) > 0:
		return first, errors.New(clip(strict[0].Error()))
	}
	if _, err := time.Parse(time.RFC3339, first.Taken); first.Taken != "" && err != nil {
		return first, fmt.Errorf("taken is %s, and has to be a time such as 2026-01-02T03:04:05Z", quote(first.Taken))
	}
	return first, nil
}

var decoder = kubejson.NewSerializerWithOptions(kubejson.DefaultMetaFactory, scheme, scheme, kubejson.SerializerOptions{Strict: true})

// read adds an object of a file, and refuses a duplicate.
func (b *Builder) read(item []byte, seen map[string]bool) error {
	decoded, kind, err := decoder.Decode(item, nil, nil)
	if err != nil {
		return errors.New(clip(err.Error()))
	}
	object, isObject := decoded.(apiObject)
	if !isObject {
		return fmt.Errorf("an inventory has no %s", quote(kind.Kind))
	}
	name := object.GetName()
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return fmt.Errorf("%s is not the name of a %s", quote(name), kind.Kind)
	}
	key := kind.Kind + " " + object.GetNamespace() + "/" + name
	if seen[key] {
		return fmt.Errorf("%s %s is there twice", kind.Kind, quote(name))
	}
	seen[key] = true
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as an object that a client has read
	return b.Add(object)
}

// maxShown bounds what an error quotes of a file, in bytes.
const maxShown = 200

func clip(text string) string {
	return sanitize.Clip(strings.Join(strings.Fields(text), " "), maxShown)
}

func quote(text string) string { return sanitize.Quote(clip(text)) }
