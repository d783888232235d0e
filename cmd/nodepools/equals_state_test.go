package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// objects are raw objects as the API server has them, by "nodes/<name>",
// "nodepools/<name>" and "runtimeclasses/<name>".
type objects map[string]map[string]any

// leftAside is all that a comparison of diff with run does not look at, besides
// events:
//   - status is reported, and not predicted; it is compared with what the JSON says
//     of members, conflicts and problems instead;
//   - the others are what the API server counts, dates and signs by itself.
//
// Everything else is compared, finalizers and owner references too. A uid is
// compared as well: an object that is updated keeps it, and of one that is new it
// is written as newUID. So is the time of deletion, as whether there is one.
var leftAside = [][]string{
	{"status"},
	{"metadata", "resourceVersion"},
	{"metadata", "generation"},
	{"metadata", "managedFields"},
	{"metadata", "creationTimestamp"},
	{"metadata", "deletionGracePeriodSeconds"},
}

// deletionSet stands for a time of deletion.
const deletionSet = "set"

// newUID stands for the uid of an object that was not there before.
const newUID = "new"

// read lists everything that a prediction is about.
func (p *proof) read() objects {
	p.t.Helper()
	all := objects{}
	for resource, path := range map[string]string{
		"nodes": "/api/v1/nodes", "runtimeclasses": "/apis/node.k8s.io/v1/runtimeclasses", "nodepools": "/apis/nodes.lailin.xyz/v1/nodepools",
	} {
		for _, object := range p.list(path) {
			name, _, err := unstructured.NestedString(object, "metadata", "name")
			p.do(err)
			all[resource+"/"+name] = object
		}
	}
	return all
}

func (p *proof) list(path string) []map[string]any {
	p.t.Helper()
	web, err := rest.HTTPClientFor(p.c.Config)
	p.do(err)
	response, err := web.Get(p.c.Config.Host + path)
	p.do(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	p.do(err)
	if response.StatusCode != http.StatusOK {
		p.t.Fatalf("list %s: %s", path, body)
	}
	var found struct {
		Items []map[string]any `json:"items"`
	}
	p.do(json.Unmarshal(body, &found))
	return found.Items
}

// comparable returns the objects without what is left aside. Uids that are not
// among those known are new.
func (all objects) comparable(known map[string]bool) objects {
	clean := objects{}
	for name, object := range all {
		object = runtime.DeepCopyJSON(object)
		for _, field := range leftAside {
			unstructured.RemoveNestedField(object, field...)
		}
		metadata := object["metadata"].(map[string]any)
		if metadata["deletionTimestamp"] != nil {
			metadata["deletionTimestamp"] = deletionSet
			// A source marks the pools that it drops, and approves what goes with several, before
			// it deletes them. A deletion has no state afterwards that diff could show it in.
			unstructured.RemoveNestedField(metadata, "annotations", v1.ApproveReleaseAnnotation)
			unstructured.RemoveNestedField(metadata, "annotations", v1.RevisionNumberAnnotation)
		}
		renameUIDs(metadata, known)
		clean[name] = tidied(name, object)
	}
	return clean
}

// tidied writes an object as a manifest does. An API server fills in a priority
// that is left out, as 0, and a manifest leaves 0 out; it has what an object is on
// the list and not on its items.
func tidied(name string, object map[string]any) map[string]any {
	delete(object, "apiVersion")
	delete(object, "kind")
	if priority, found, _ := unstructured.NestedFieldNoCopy(object, "spec", "priority"); strings.HasPrefix(name, "nodepools/") && found && fmt.Sprint(priority) == "0" {
		unstructured.RemoveNestedField(object, "spec", "priority")
	}
	// Taints are known by key and effect; in which order they stand is not reported.
	if spec, _ := object["spec"].(map[string]any); strings.HasPrefix(name, "nodes/") && spec["taints"] != nil {
		slices.SortFunc(spec["taints"].([]any), func(a, b any) int {
			return strings.Compare(taintKey(a.(map[string]any)), taintKey(b.(map[string]any)))
		})
	}
	// An empty map and none are the same to a reader.
	for _, field := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"spec"}} {
		if value, found, _ := unstructured.NestedMap(object, field...); found && len(value) == 0 {
			unstructured.RemoveNestedField(object, field...)
		}
	}
	return object
}

func renameUIDs(metadata map[string]any, known map[string]bool) {
	rename := func(holder map[string]any) {
		if uid, _ := holder["uid"].(string); !known[uid] {
			holder["uid"] = newUID
		}
	}
	rename(metadata)
	owners, _ := metadata["ownerReferences"].([]any)
	for _, owner := range owners {
		rename(owner.(map[string]any))
	}
}

// uids are those of all objects.
func (all objects) uids() map[string]bool {
	known := map[string]bool{}
	for _, object := range all {
		known[object["metadata"].(map[string]any)["uid"].(string)] = true
	}
	return known
}

// worldOf is the world that an object is of; empty for the sentinel.
func worldOf(object string) string {
	_, name, _ := strings.Cut(object, "/")
	world, _, within := strings.Cut(strings.TrimPrefix(name, "node-pool-"), ".")
	if !within {
		return ""
	}
	return world
}

// of are the objects of one world.
func (all objects) of(world string) objects {
	theirs := maps.Clone(all)
	maps.DeleteFunc(theirs, func(name string, _ map[string]any) bool { return worldOf(name) != world })
	return theirs
}
