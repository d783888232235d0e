package nodecache

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// A trimmer appends to a slice the kept part of an encoded message.
type trimmer func(to, encoded []byte) ([]byte, error)

// message lists the fields of an encoded message that are kept, by their
// numbers in the generated.proto of each kind.
type message map[protowire.Number]field

// field is how much of a field is kept: only values for which only returns
// true, each reduced by trim. Without these it is kept whole.
type field struct {
	only func(value []byte) bool
	trim trimmer
}

var whole = field{}

// What plans read of a node, and [reduce] keeps. Most of a node are its images, what its
// conditions say in words, and their owners: decoding them takes longer than everything
// else that a heartbeat causes, and produces as much garbage.
var (
	trimmedNode = message{
		1: {trim: trimmedMetadata.trim},
		2: {trim: message{4: whole, 5: whole}.trim},                         // unschedulable, taints
		3: {trim: message{2: whole, 4: {trim: trimmedCondition.trim}}.trim}, // allocatable, conditions
	}
	trimmedCondition = message{1: whole, 2: whole} // type, status, and no heartbeat
	trimmedMetadata  = message{
		1: whole, 2: whole, 3: whole, 4: whole, 5: whole, 6: whole, 7: whole, 8: whole, 9: whole, 10: whole,
		11: whole, 12: whole, 13: whole, 14: whole,
		17: {only: isReadOwner}, // managedFields
	}
	trimmedNodeList = message{
		1: whole,
		2: {trim: trimmedNode.trim}, // items
	}
)

// isReadOwner reports whether a plan may read an encoded entry of managed fields.
func isReadOwner(entry []byte) bool {
	return bytes.Contains(entry, []byte(v1.FieldManager)) || plan.MentionsWritten(entry)
}

// envelope is the prefix of every object that Kubernetes encodes as protobuf. A
// message follows that has the type in its first field and the object in its
// second.
var envelope = []byte("k8s\x00")

var (
	envelopedNode     = message{1: whole, 2: {trim: trimmedNode.trim}, 3: whole, 4: whole}
	envelopedNodeList = message{1: whole, 2: {trim: trimmedNodeList.trim}, 3: whole, 4: whole}
)

var nodeType, nodeListType = encodedType("Node"), encodedType("NodeList")

func encodedType(kind string) []byte {
	encoded, err := (&runtime.TypeMeta{APIVersion: "v1", Kind: kind}).Marshal()
	if err != nil {
		panic(err) // two strings can be encoded
	}
	return encoded
}

// trimEvent is the trimmer of an event of a watch. An event has a type, and in
// a RawExtension the object.
func trimEvent(to, encoded []byte) ([]byte, error) { return watchEvent.trim(to, encoded) }

var watchEvent = message{
	1: whole,
	2: {trim: message{1: {trim: func(to, encoded []byte) ([]byte, error) {
		return trimObject(to, encoded, nodeType, envelopedNode)
	}}}.trim},
}

// trimList is the trimmer of a list of nodes.
func trimList(to, encoded []byte) ([]byte, error) {
	return trimObject(to, encoded, nodeListType, envelopedNodeList)
}

// trimObject appends the kept part of an object of a type in its envelope. An
// object of another type is kept whole.
func trimObject(to, encoded, ofType []byte, enveloped message) ([]byte, error) {
	inside, found := bytes.CutPrefix(encoded, envelope)
	if !found {
		return append(to, encoded...), nil
	}
	number, wire, tag := protowire.ConsumeTag(inside)
	if tag < 0 || number != 1 || wire != protowire.BytesType {
		return append(to, encoded...), nil
	}
	if typeMeta, length := protowire.ConsumeBytes(inside[tag:]); length < 0 || !bytes.Equal(typeMeta, ofType) {
		return append(to, encoded...), nil
	}
	return enveloped.trim(append(to, envelope...), inside)
}

// trim is a trimmer. It keeps the order of fields.
func (m message) trim(to, encoded []byte) ([]byte, error) {
	for len(encoded) > 0 {
		number, wire, tag := protowire.ConsumeTag(encoded)
		if tag < 0 {
			return nil, protowire.ParseError(tag)
		}
		length := protowire.ConsumeFieldValue(number, wire, encoded[tag:])
		if length < 0 {
			return nil, protowire.ParseError(length)
		}
		all := encoded[:tag+length]
		encoded = encoded[tag+length:]
		field, stays := m[number]
		if !stays {
			continue
		}
		if wire != protowire.BytesType || field.only == nil && field.trim == nil {
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

// appendTrimmed appends the kept part of a value, after its length.
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
