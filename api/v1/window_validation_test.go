package v1

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A start or an end that is written and is no time would be as if it were left out.
func TestExclusionOfNoTime(t *testing.T) {
	zero, now := &metav1.Time{}, &metav1.Time{Time: time.Unix(1_800_000_000, 0)}
	for name, e := range map[string]Exclusion{"start": {Start: zero, End: now}, "end": {Start: now, End: zero}, "both": {Start: zero, End: zero}} {
		problems := ValidateCalendar(nil, []Exclusion{e}, field.NewPath("spec"))
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), "stands for no time at all") {
			t.Errorf("zero %s: %v, want it refused", name, problems)
		}
	}
}
