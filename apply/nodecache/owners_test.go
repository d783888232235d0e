package nodecache

import (
	"fmt"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// Equal nodes share one copy, which is dropped with the last of them.
func TestSharedOwnersGoWithTheirNodes(t *testing.T) {
	set := newOwnersSet()
	one := func(manager string) []metav1.ManagedFieldsEntry {
		return set.share([]metav1.ManagedFieldsEntry{
			{Manager: manager, FieldsV1: metav1.NewFieldsV1("first")}, {Manager: "second", FieldsV1: metav1.NewFieldsV1("second")},
		})
	}
	a, b, other := one("x"), one("x"), one("y")
	if &a[0] != &b[0] || &a[0] == &other[0] {
		t.Error("equal lists are not one, or different ones are")
	}
	if len(a) != 2 || a[0].Manager != "x" || a[0].FieldsV1.GetRawString() != "first" || a[1].FieldsV1.GetRawString() != "second" {
		t.Errorf("the list became %v", a)
	}
	left := func(want int) func() error {
		return func() error {
			runtime.GC()
			set.mu.Lock()
			defer set.mu.Unlock()
			if len(set.known) != want {
				return fmt.Errorf("there are %d, want %d", len(set.known), want)
			}
			return nil
		}
	}
	runtime.KeepAlive(other)
	cluster.Eventually(t, "lists that no node has are dropped, and the others are kept", timeout, left(1))
	if again := one("x"); &again[0] != &b[0] {
		t.Error("a list that is still in use was forgotten")
	}
	runtime.KeepAlive(b)
	cluster.Eventually(t, "nothing is kept at the end", timeout, left(0))
}
