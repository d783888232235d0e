package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func fromCommit(pool *v1.NodePool, revision string) *v1.NodePool {
	pool = pool.DeepCopy()
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.RevisionAnnotation, revision)
	return pool
}

// The record of a node names the commit of what it has followed last; another commit that
// changes nothing there is no reason to write.
func TestRecordNamesTheCommit(t *testing.T) {
	commit := func(c *canary) string {
		t.Helper()
		record, err := ParseRecord(c.node.Annotations[v1.AppliedAnnotation])
		if err != nil {
			t.Fatal(err)
		}
		return record.Change.Pools["p"].Commit
	}
	const first, second = "main@sha1:0123456789abcdef0123456789abcdef01234567", "sha1:fedcba9876543210fedcba9876543210fedcba98"
	c := canaryOf(t, limitedPairs("a", "1"))
	c.follow(t, false, fromCommit(limitedPairs("a", "2"), first))
	if got := commit(c); got != "0123456789ab" {
		t.Errorf("its commit is %q", got)
	}
	if o := decide(c.node, c.now.Add(time.Hour), []string{"p"}, fromCommit(limitedPairs("a", "2"), second)); !o.Admission.Plan.NoOp() || len(o.Wait) > 0 {
		t.Errorf("another commit alone has the node written: %+v, %v", o.Admission.Plan, o.Wait)
	}
	// What waits for no turn is followed with it.
	annotated := fromCommit(limitedPairs("a", "2"), second)
	annotated.Spec.Annotations = map[string]v1.AnnotationValue{"example.com/a": "1"}
	c.node = carry(c.node, decide(c.node, c.now.Add(time.Hour), nil, annotated))
	if got := commit(c); got != "fedcba987654" {
		t.Errorf("its commit is %q after an annotation has come", got)
	}
	for what, revision := range map[string]string{"by hand": "", "a branch": "main@main", "no commit": "main@sha1:xyz", "too short": "sha1:0123", "hex alone": "0123456789abcdef"} {
		c.follow(t, false, fromCommit(limitedPairs("a", what[:2]), revision))
		if got := commit(c); got != "" {
			t.Errorf("%s: its commit is %q", what, got)
		}
	}
}

// A commit that nobody can have written is refused, as all is that this code would not write.
func TestRecordWithAnImpossibleCommit(t *testing.T) {
	const text = `{"version":1,"pools":{"p":{"labels":{"a":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","pools":{"p":{"spec":"c","commit":"main; rm"}}}}`
	if _, err := ParseRecord(text); err == nil {
		t.Error("it is read")
	}
}
