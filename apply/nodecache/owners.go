package nodecache

import (
	"runtime"
	"sync"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharedOwners are the owners of all cached nodes. What the kubelet and the
// controllers of a cluster own of a node is the same on thousands of them.
var sharedOwners = newOwnersSet()

// ownersSet keeps one copy of each list of managed fields for as long as a node
// has it.
type ownersSet struct {
	mu    sync.Mutex
	known map[string]weak.Pointer[sharedList]

	scratch []byte // holds a key while it is looked up
}

// sharedList is a list of managed fields. The first entry points into it, so
// that a reference to the list keeps all of this alive.
type sharedList struct {
	entries []metav1.ManagedFieldsEntry
	first   metav1.FieldsV1
}

func newOwnersSet() *ownersSet {
	return &ownersSet{known: map[string]weak.Pointer[sharedList]{}}
}

// share returns the shared copy of a condensed list, which nobody may change.
func (s *ownersSet) share(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	if len(entries) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scratch = appendKey(s.scratch[:0], entries)
	if known := s.known[string(s.scratch)].Value(); known != nil {
		return known.entries
	}
	key := string(s.scratch)
	list := &sharedList{entries: entries, first: *entries[0].FieldsV1}
	entries[0].FieldsV1 = &list.first
	s.known[key] = weak.Make(list)
	runtime.AddCleanup(list, s.forget, key)
	return entries
}

// forget drops a list that no node has any more.
func (s *ownersSet) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[key].Value() == nil { // else it is in use again
		delete(s.known, key)
	}
}

// appendKey appends the content of a condensed list. No name and no set of
// fields contains the separator.
func appendKey(to []byte, entries []metav1.ManagedFieldsEntry) []byte {
	for _, entry := range entries {
		to = append(append(to, entry.Manager...), 0)
		to = append(append(to, entry.Operation...), 0)
		to = append(append(to, entry.FieldsV1.GetRawBytes()...), 0)
	}
	return to
}
