package nodecache

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// A trimmer appends to a slice what stays of an encoded message.
type trimmer func(to, encoded []byte) ([]byte, error)

// message is what stays of an encoded message: of its fields, by their numbers,
// those that are named. The numbers are those of generated.proto of each kind.
type message map[protowire.Number]field

// field is how much of a field stays: where only says so, and nothing but what the
// trimmer leaves. Without them all of it stays.
type field struct {
	only func(value []byte) bool
	trim trimmer
}

var whole = field{}

// What plans read of a node, and [Slim] leaves of it. Most of a node are its
// images, its conditions, and who owns those: to read them takes longer than all
// else that is done about a heartbeat, and leaves as much to collect.
var (
	trimmedNode = message{
		1: {trim: trimmedMetadata.trim},
		2: {trim: message{5: whole}.trim}, // taints
		3: {trim: message{4: {only: isReadiness}}.trim},
	}
	trimmedMetadata = message{
		1: whole, 2: whole, 3: whole, 4: whole, 5: whole, 6: whole, 7: whole, 8: whole, 9: whole, 10: whole,
		11: whole, 12: whole, 13: whole, 14: whole,
		17: {only: isReadOwner}, // managedFields
	}
	trimmedNodeList = message{
		1: whole,
		2: {trim: trimmedNode.trim}, // items
	}
	// trimmedEvent is that of a watch: its type, and in a RawExtension the object.
	trimmedEvent = message{
		1: whole,
		2: {trim: message{1: {trim: trimObject}}.trim},
	}
)

// readiness is how the type of the condition Ready is encoded.
var readiness = protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "Ready")

// isReadiness tells whether an encoded condition may be that of being ready.
func isReadiness(condition []byte) bool { return bytes.Contains(condition, readiness) }

// isReadOwner tells whether a plan may read an encoded entry of managed fields.
func isReadOwner(entry []byte) bool {
	return bytes.Contains(entry, []byte(v1.FieldManager)) || plan.MentionsWritten(entry)
}

// envelope begins every object that Kubernetes encodes as protobuf. A message
// follows that holds the type in its first field and the object in its second.
var envelope = []byte("k8s\x00")

// trimmedObjects are the kinds of which not all stays, by their encoded type.
var trimmedObjects = map[string]message{
	encodedType("Node"):     {1: whole, 2: {trim: trimmedNode.trim}, 3: whole, 4: whole},
	encodedType("NodeList"): {1: whole, 2: {trim: trimmedNodeList.trim}, 3: whole, 4: whole},
}

func encodedType(kind string) string {
	encoded, err := (&runtime.TypeMeta{APIVersion: "v1", Kind: kind}).Marshal()
	if err != nil {
		panic(err) // two strings can be encoded
	}
	return string(encoded)
}

// trimObject is the trimmer of an object in its envelope. Of what is no node and no
// list of nodes all stays.
func trimObject(to, encoded []byte) ([]byte, error) {
	inside, found := bytes.CutPrefix(encoded, envelope)
	if !found {
		return append(to, encoded...), nil
	}
	number, kind, tag := protowire.ConsumeTag(inside)
	if tag < 0 || number != 1 || kind != protowire.BytesType {
		return append(to, encoded...), nil
	}
	typeMeta, length := protowire.ConsumeBytes(inside[tag:])
	if length < 0 {
		return nil, protowire.ParseError(length)
	}
	object, known := trimmedObjects[string(typeMeta)]
	if !known {
		return append(to, encoded...), nil
	}
	return object.trim(append(to, envelope...), inside)
}

// trim is a trimmer. What stays of a field stays in its place.
func (m message) trim(to, encoded []byte) ([]byte, error) {
	for len(encoded) > 0 {
		number, kind, tag := protowire.ConsumeTag(encoded)
		if tag < 0 {
			return nil, protowire.ParseError(tag)
		}
		length := protowire.ConsumeFieldValue(number, kind, encoded[tag:])
		if length < 0 {
			return nil, protowire.ParseError(length)
		}
		all := encoded[:tag+length]
		encoded = encoded[tag+length:]
		field, stays := m[number]
		if !stays {
			continue
		}
		if kind != protowire.BytesType || field.only == nil && field.trim == nil {
			to = append(to, all...)
			continue
		}
		value, _ := protowire.ConsumeBytes(all[tag:])
		if field.only != nil && !field.only(value) {
			continue
		}
		if field.trim == nil {
			to = append(to, all...)
			continue
		}
		var err error
		if to, err = appendTrimmed(append(to, all[:tag]...), value, field.trim); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// appendTrimmed appends what stays of a value, behind its length.
func appendTrimmed(to, value []byte, trim trimmer) ([]byte, error) {
	start := len(to)
	to, err := trim(to, value)
	if err != nil {
		return nil, err
	}
	length := len(to) - start
	shift := protowire.SizeVarint(uint64(length))
	to = append(to, make([]byte, shift)...)
	copy(to[start+shift:], to[start:start+length])
	protowire.AppendVarint(to[:start], uint64(length))
	return to, nil
}
