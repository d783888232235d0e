package render

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// manifest has the fields that a file may set of a pool.
type manifest struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   metadata        `json:"metadata"`
	Spec       v1.NodePoolSpec `json:"spec"`
}

// A decoder fills Go values from a tree of YAML nodes. The strict decoders of
// libraries stop at the first fault or know no lines, and those that follow
// aliases can be made to allocate without bound; this one reports every fault
// at its position, and stops when its budget is spent.
type decoder struct {
	*document
	// left is the number of keys and values that may still be read.
	left   int
	unread unread
}

// decode fills a manifest, and returns the fields that it could not fill.
func (d *document) decode(into *manifest) unread {
	decoder := &decoder{document: d, left: maxNodes, unread: newUnread()}
	decoder.value(d.root, d.root, reflect.ValueOf(into).Elem(), nil)
	d.nodes += maxNodes - decoder.left
	return decoder.unread
}

// fault reports that the field at a path could not be read.
func (d *decoder) fault(at *yaml.Node, path *field.Path, message, hint string) {
	d.unread.add(path.String(), false)
	d.addAt(at, path, message, hint)
}

// addAt is add with the path as a prefix of the message; a nil path is the
// document itself.
func (d *decoder) addAt(at *yaml.Node, path *field.Path, message, hint string) {
	if path != nil {
		message = path.String() + ": " + message
	}
	d.add(at, message, hint)
}

// spend takes one from the budget, and reports whether there was one.
func (d *decoder) spend() bool {
	d.left--
	if d.left == 0 {
		// Nothing that is found after this is reliable.
		d.unread.add("", false)
		d.add(nil, fmt.Sprintf("the document has more than %d keys and values once its aliases are written out", maxNodes), "")
	}
	return d.left > 0
}

// value fills one value. Problems are reported at the given node: the key of a
// field, the item of a list.
func (d *decoder) value(at, node *yaml.Node, into reflect.Value, path *field.Path) {
	if !d.spend() {
		return
	}
	node = resolved(node)
	switch into.Type() {
	case timeType, durationType:
		d.timed(at, node, into, path)
		return
	case limitType:
		d.limit(at, node, into, path)
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.value(at, node, into.Elem(), path)
	case reflect.Struct:
		if d.is(yaml.MappingNode, at, node, path) {
			d.structure(node, into, path)
		}
	case reflect.Map:
		if d.is(yaml.MappingNode, at, node, path) {
			d.dictionary(node, into, path)
		}
	case reflect.Slice:
		if d.is(yaml.SequenceNode, at, node, path) {
			d.list(node, into, path)
		}
	case reflect.String:
		if problem, hint := notText(node); problem != "" {
			d.fault(at, path, "must be text, and is "+problem, hint)
		} else {
			into.SetString(node.Value)
		}
	case reflect.Int32:
		d.integer(at, node, into, path)
	case reflect.Bool:
		d.boolean(at, node, into, path)
	default:
		// A test that walks the types makes sure that this does not happen.
		d.fault(at, path, "this field cannot be read from a file", "")
	}
}

// is reports whether a node is of the expected kind, map or list. An empty
// value is read as an empty one: a selector whose lines are commented out is
// then an empty selector, which is refused, rather than none, which selects
// other nodes.
func (d *decoder) is(kind yaml.Kind, at, node *yaml.Node, path *field.Path) bool {
	want, tag := "a map", "!!map"
	if kind == yaml.SequenceNode {
		want, tag = "a list", "!!seq"
	}
	switch {
	case isNull(node):
		return true
	case node.Kind != kind:
		d.fault(at, path, "must be "+want+", and is "+describe(node), "")
		return false
	case node.ShortTag() != tag:
		d.fault(at, path, "must be "+want+", and has the tag "+quoted(node.Tag), "leave the tag out")
		return false
	}
	return true
}

func (d *decoder) structure(node *yaml.Node, into reflect.Value, path *field.Path) {
	fields := fieldsOf(into.Type())
	for _, entry := range d.entries(node, path) {
		name := resolved(entry.key).Value
		at := path.Child(name)
		if path == nil {
			at = field.NewPath(name)
		}
		if index, known := fields[name]; known {
			d.value(entry.key, entry.value, into.Field(index), at)
			continue
		}
		if message, refused := refusedFields[at.String()]; refused {
			d.fault(entry.key, at, message, "leave it out")
			continue
		}
		meant, hint := d.meant(path, name, fields)
		if meant != "" {
			d.unread.add(meant, true)
		}
		d.addAt(entry.key, path, "unknown field "+quoted(name), hint)
	}
}

func (d *decoder) dictionary(node *yaml.Node, into reflect.Value, path *field.Path) {
	into.Set(reflect.MakeMapWithSize(into.Type(), len(node.Content)/2))
	value := reflect.New(into.Type().Elem()).Elem()
	for _, entry := range d.entries(node, path) {
		key := resolved(entry.key)
		if problem, hint := notText(key); problem != "" {
			d.unread.lack(path.String())
			d.addAt(entry.key, path, "a key must be text, and is "+problem, hint)
			continue
		}
		value.SetZero()
		d.value(entry.key, entry.value, value, path.Key(key.Value))
		into.SetMapIndex(reflect.ValueOf(key.Value).Convert(into.Type().Key()), value)
	}
}

func (d *decoder) list(node *yaml.Node, into reflect.Value, path *field.Path) {
	// Each item is taken from the budget before it is allocated.
	into.Set(reflect.MakeSlice(into.Type(), 0, min(len(node.Content), d.left)))
	item := reflect.New(into.Type().Elem()).Elem()
	for i, child := range node.Content {
		item.SetZero()
		d.value(child, child, item, path.Index(i))
		if d.left <= 0 {
			return
		}
		into.Set(reflect.Append(into, item))
	}
}

// decimal matches numbers that YAML and people read alike: 010 is eight in YAML.
var decimal = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)

func (d *decoder) integer(at, node *yaml.Node, into reflect.Value, path *field.Path) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" {
		hint := ""
		if decimal.MatchString(node.Value) {
			hint = "leave the quotes out"
		}
		d.fault(at, path, "must be a whole number, and is "+describe(node), hint)
		return
	}
	number, err := strconv.ParseInt(node.Value, 10, 32)
	switch {
	case !decimal.MatchString(node.Value):
		d.fault(at, path, "must be a whole number in plain decimal digits, and is "+quoted(node.Value), "")
	case err != nil:
		d.fault(at, path, fmt.Sprintf("must be between %d and %d, and is %s", -1<<31, 1<<31-1, printable(node.Value, maxValue)), "")
	default:
		into.SetInt(number)
	}
}

func (d *decoder) boolean(at, node *yaml.Node, into reflect.Value, path *field.Path) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != yaml.NodeTagBool {
		d.fault(at, path, "must be true or false, and is "+describe(node), "")
		return
	}
	into.SetBool(strings.EqualFold(node.Value, "true"))
}

// entries flattens a map at a path.
func (d *decoder) entries(node *yaml.Node, path *field.Path) []entry {
	return flatten(node, d.spend, func(at *yaml.Node, message, hint string) {
		if path != nil {
			d.unread.lack(path.String())
		}
		d.addAt(at, path, message, hint)
	})
}

// knownFields caches the results of fieldsOf for the few types that there are.
var knownFields sync.Map

// fieldsOf returns the index of each field of a struct by its name in YAML. The
// result is shared, and must not be changed.
func fieldsOf(of reflect.Type) map[string]int {
	if known, found := knownFields.Load(of); found {
		return known.(map[string]int)
	}
	fields := make(map[string]int, of.NumField())
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	knownFields.Store(of, fields)
	return fields
}
