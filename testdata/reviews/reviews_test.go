package reviews

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// A sample is the same each time, and is complete: a list that is null would not be
// a review.
func TestAll(t *testing.T) {
	for _, sample := range All() {
		t.Run(sample.Name, func(t *testing.T) {
			r := sample.Make()
			r.Compared = review.Compared{Nodes: new(int), Pods: new(int)} // null where they are not known
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			again := sample.Make()
			again.Compared = r.Compared
			if text, err := json.Marshal(again); err != nil || string(text) != string(data) {
				t.Error("two are not the same")
			}
			for _, list := range []string{"pools", "nodes", "records", "members", "kept", "conflicts", "problems", "notes", "evictions", "pods", "waiting", "undrainable", "budgetsBlocking", "removed", "entering"} {
				if strings.Contains(string(data), `"`+list+`":null`) {
					t.Errorf("%s is null", list)
				}
			}
		})
	}
}
