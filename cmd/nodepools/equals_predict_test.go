package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// prediction is what a review says of one world.
type prediction struct {
	world string
	// after is how the objects of the world are to be.
	after objects
	// written are the objects that the review speaks of, sorted; collected are
	// those of them that go with their owner, by the garbage collector.
	written, collected []string
	// between are objects that may be written without being reported: what comes
	// goes again.
	between []string
	// stays are pools that are deleted and are not gone yet.
	stays map[string]bool
	// wrong is what the review says of the state before and that is not so.
	wrong []string
}

// predict carries out what a review says of one world on the objects that it
// has. Revisions that are not known beforehand are left out.
func predict(r *review.Review, world string, before objects, revisionKnown bool) *prediction {
	p := &prediction{world: world, after: objects{}, stays: map[string]bool{}}
	for _, problem := range r.Problems {
		if pool, stays := strings.CutSuffix(strings.Split(problem, ", and stays until")[0], `" is deleted`); stays {
			p.stays[strings.TrimPrefix(pool, `pool "`)] = true
		}
	}
	for name, object := range before.of(world) {
		p.after[name] = runtime.DeepCopyJSON(object)
	}
	for _, change := range r.Pools {
		p.object("nodepools/"+change.Name, change, revisionKnown)
	}
	for _, change := range r.RuntimeClasses {
		p.object("runtimeclasses/"+change.Name, change, revisionKnown)
	}
	for _, group := range r.Nodes {
		for _, name := range group.Names {
			p.node("nodes/"+name, group)
		}
	}
	for _, group := range r.Records {
		for _, name := range group.Names {
			p.record("nodes/"+name, group.Value)
		}
	}
	slices.Sort(p.written)
	return p
}

func (p *prediction) errorf(format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

// mine notes an object that the review speaks of, and reports whether it is one of
// this world.
func (p *prediction) mine(name string) bool {
	if worldOf(name) != p.world {
		return false
	}
	if slices.Contains(p.written, name) {
		p.errorf("%s is reported twice", name)
	}
	p.written = append(p.written, name)
	return true
}

func (p *prediction) object(name string, change review.Object, revisionKnown bool) {
	if !p.mine(name) {
		return
	}
	live, there := p.after[name]
	reported, after := manifest(name, change.Before), manifest(name, change.After)
	if live != nil && metadataOf(live)["deletionTimestamp"] != nil { // as in comparable
		delete(annotationsOf(reported), v1.ApproveReleaseAnnotation)
		delete(annotationsOf(reported), v1.RevisionNumberAnnotation)
	}
	if diff := cmp.Diff(unreported(live), reported); diff != "" {
		p.errorf("%s before (-cluster +reported):\n%s", name, diff)
	}
	if !revisionKnown {
		delete(annotationsOf(after), "nodes.lailin.xyz/revision")
	}
	var uid any = newUID
	switch change.Action {
	case plan.Create:
		if there || after == nil {
			p.errorf("%s is reported to be created: there before is %t, reported afterwards is %t", name, there, after != nil)
		}
	case plan.Update:
		if !there || after == nil {
			p.errorf("%s is reported to be updated: there before is %t, reported afterwards is %t", name, there, after != nil)
			return
		}
		uid = uidOf(live)
	case plan.Replace:
		p.replace(name)
		if !there || after == nil {
			p.errorf("%s is reported to be replaced: there before is %t, reported afterwards is %t", name, there, after != nil)
		}
	case plan.Delete:
		if !there || after != nil {
			p.errorf("%s is reported to be deleted: there before is %t, reported afterwards is %t", name, there, after != nil)
		}
		if strings.HasPrefix(name, "runtimeclasses/") {
			p.collected = append(p.collected, name)
		}
		delete(p.after, name)
		if p.stays[change.Name] {
			live["metadata"].(map[string]any)["deletionTimestamp"] = deletionSet
			delete(annotationsOf(live), v1.ApproveReleaseAnnotation)
			delete(annotationsOf(live), v1.RevisionNumberAnnotation)
			p.after[name] = live
		}
		return
	default:
		p.errorf("%s: unknown action %q", name, change.Action)
	}
	if after != nil {
		metadataOf(after)["uid"] = uid
		if deleted := metadataOf(live)["deletionTimestamp"]; change.Action == plan.Update && deleted != nil {
			metadataOf(after)["deletionTimestamp"] = deleted
			delete(annotationsOf(after), v1.ApproveReleaseAnnotation)
			delete(annotationsOf(after), v1.RevisionNumberAnnotation)
		}
		p.after[name] = after
	}
}

// replace notes what is written on the way from one object to the next. What
// others have set on a RuntimeClass stands on its pool meanwhile; and a pool that
// is made anew releases all nodes first.
func (p *prediction) replace(name string) {
	pool, isClass := strings.CutPrefix(name, "runtimeclasses/node-pool-")
	if isClass {
		p.between = append(p.between, "nodepools/"+pool)
		return
	}
	for each := range p.after {
		if strings.HasPrefix(each, "nodes/") {
			p.between = append(p.between, each)
		}
	}
}

// node changes the keys of one node.
func (p *prediction) node(name string, group review.Nodes) {
	if !p.mine(name) {
		return
	}
	node, there := p.after[name]
	if !there {
		p.errorf("%s is reported to change, and is not there", name)
		return
	}
	for _, change := range group.Changes {
		if have := valueAt(node, change.Field, change.Key); !equalText(have, change.Before) {
			p.errorf("%s: %s %s is %s, and reported as %s", name, change.Field, change.Key, quoted(have), quoted(change.Before))
		}
		if equalText(change.Before, change.After) {
			p.errorf("%s: %s %s does not change", name, change.Field, change.Key)
		}
		setValue(node, change.Field, change.Key, change.After)
	}
	p.after[name] = tidied(name, node)
}

// record changes the record of one node, which is among those that change.
func (p *prediction) record(name, value string) {
	if worldOf(name) != p.world {
		return
	}
	node, there := p.after[name]
	if !there || !slices.Contains(p.written, name) {
		p.errorf("%s: the record is reported to change, and the node is not", name)
		return
	}
	record := &value
	if value == "" {
		record = nil
	}
	if equalText(record, valueAt(node, plan.Annotation, recordKey)) {
		p.errorf("%s: the record does not change", name)
	}
	setValue(node, plan.Annotation, recordKey, record)
	p.after[name] = tidied(name, node)
}

const recordKey = "nodes.lailin.xyz/applied"

// manifest is what a review says of an object, with owners that are new named so.
func manifest(name string, reported map[string]any) map[string]any {
	if reported == nil {
		return nil
	}
	reported = runtime.DeepCopyJSON(reported)
	owners, _ := metadataOf(reported)["ownerReferences"].([]any)
	for _, owner := range owners {
		if uid, _ := owner.(map[string]any)["uid"].(string); uid == "" {
			owner.(map[string]any)["uid"] = newUID
		}
	}
	return tidied(name, reported)
}

// unreported is an object without what is compared and what no review tells.
func unreported(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	object = runtime.DeepCopyJSON(object)
	delete(metadataOf(object), "uid")
	delete(metadataOf(object), "deletionTimestamp")
	return object
}

func uidOf(object map[string]any) any { return metadataOf(object)["uid"] }

func metadataOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}

func annotationsOf(object map[string]any) map[string]any {
	annotations, _ := metadataOf(object)["annotations"].(map[string]any)
	return annotations
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

func quoted(value *string) string {
	if value == nil {
		return "unset"
	}
	return fmt.Sprintf("%q", *value)
}
