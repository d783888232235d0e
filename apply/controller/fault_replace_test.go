package controller

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// An answer that is lost on the way, and a fault between the two halves, do not
// make the replacement of a RuntimeClass lose what others have put there, nor
// happen twice.
func TestFaultWhileRuntimeClassIsReplaced(t *testing.T) {
	cluster.Long(t)
	w := newFaultWorld(t, cluster.Shared(t))
	s := newScene(w)
	s.runs()
	for _, tc := range []struct {
		name   string
		fault  cluster.Fault
		writes []string // that went through, as the audit log has them
	}{
		{"made late", cluster.Fault{Verbs: []string{"create"}, Code: 500, Times: 8}, []string{"delete", "create"}},
		{"deletion not heard of", cluster.Fault{Verbs: []string{"delete"}, DropAnswer: true, Times: 3}, []string{"delete", "create"}},
		{"creation not heard of", cluster.Fault{Verbs: []string{"create"}, DropAnswer: true, Times: 3}, []string{"delete", "create"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			outer := s.t
			s.in(t)
			defer s.in(outer)
			began, mark := time.Now(), s.mark()
			tc.fault.Resources, tc.fault.OnlyWrites = []string{"runtimeclasses"}, true
			s.proxy.Disturb(tc.fault)
			s.change()
			s.stands(true)
			s.disturbed(began, 1)
			s.proxy.Disturb()
			// A deletion of what a late cache still has is refused, and has no answer in the
			// audit log until then.
			s.becomesIdle()
			var writes []string
			for _, write := range s.writesSince(mark) {
				about := write.Object.Resource == "runtimeclasses" && write.Object.Name == v1.RuntimeClassName("lower")
				// Whether a deletion is a dry run stands in its body, which the audit log
				// does not have.
				// The enclosing pool, which changes first, leads to a patch.
				if about && write.Verb != "patch" && write.Code < http.StatusMultipleChoices {
					writes = append(writes, write.Verb)
				}
			}
			if diff := cmp.Diff(tc.writes, writes); diff != "" {
				t.Errorf("writes of the RuntimeClass (-want +got):\n%s", diff)
			}
		})
	}
}
