package review

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/impact"
)

func TestParseThresholds(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		text   string
		want   []Threshold
		fails  string
	}{
		"more than":       {"one is too many", "evictions>0", []Threshold{{"evictions", 1}}, ""},
		"at least":        {"the number itself is too many", "nodesChanged>=100", []Threshold{{"nodesChanged", 100}}, ""},
		"several":         {"spaces do no harm", " evictions > 0 ,nodesChanged>= 100", []Threshold{{"evictions", 1}, {"nodesChanged", 100}}, ""},
		"twice":           {"each is held", "evictions>0,evictions>5", []Threshold{{"evictions", 1}, {"evictions", 6}}, ""},
		"empty":           {"an empty variable is no threshold", "", nil, "a threshold is empty: write one such as evictions>0"},
		"empty at end":    {"something is missing", "evictions>0,", nil, "a threshold is empty"},
		"no number":       {"what is too many?", "conflicts", nil, "write it such as conflicts>0"},
		"no number there": {"nor here", "evictions>", nil, `"" is no whole number`},
		"less":            {"too little is not too much", "evictions<1", nil, "the operator < is not known: must be > or >="},
		"equal":           {"nor is exactly", "evictions=1", nil, "the operator = is not known"},
		"turned around":   {"a slip", "evictions=>1", nil, "the operator => is not known: must be > or >="},
		"negative":        {"there is no negative count", "evictions>-1", nil, `"-1" is no whole number`},
		"fraction":        {"pods are whole", "evictions>0.5", nil, `"0.5" is no whole number`},
		"share":           {"of what?", "evictions>5%", nil, `"5%" is no whole number`},
		"sign":            {"a number has none", "evictions>+5", nil, `"+5" is no whole number`},
		"large":           {"larger than any count", "evictions>99999999999", nil, "is no whole number from 0 to 2147483647"},
		"always":          {"every change would fail", "evictions>=0", nil, "is met by every change: write evictions>0"},
		"slip":            {"the near one is proposed", "eviction>0", nil, `did you mean "evictions"? known are poolsCreated, `},
		"case":            {"the near one is proposed", "nodeschanged>0", nil, `did you mean "nodesChanged"?`},
		"unknown":         {"all are listed", "pods>0", nil, `"pods" is no count: known are poolsCreated, poolsChanged, `},
		"no name":         {"of what?", ">0", nil, `"" is no count`},
		"two operators":   {"one is enough", "evictions>>0", nil, `">0" is no whole number`},
		"control":         {"it does not reach a terminal", "\x1b[2J>0", nil, `"\x1b[2J" is no count`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseThresholds(test.text)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s: error %v; want %q", test.reason, err, test.fails)
			}
		})
	}
}

// Every count can be a threshold, is read from its own field, and says what has to
// be known for it.
func TestEveryCountCanBeAThreshold(t *testing.T) {
	nodes := 0
	for i, name := range CountNames() {
		if _, said := needs[name]; !said {
			t.Errorf("%s does not say what has to be known for it", name)
		}
		thresholds, err := ParseThresholds(name + ">6")
		if err != nil {
			t.Fatal(err)
		}
		r := &Review{Compared: Compared{Nodes: &nodes}, Impact: &impact.Impact{}}
		reflect.ValueOf(&r.Summary.Counts).Elem().Field(i).SetInt(6)
		if got, err := r.Exceeds(thresholds); err != nil || got != nil {
			t.Errorf("6 of %s is not too much, and it says %q, %v", name, got, err)
		}
		reflect.ValueOf(&r.Summary.Counts).Elem().Field(i).SetInt(7)
		got, err := r.Exceeds(thresholds)
		if want := []string{name + ": 7, and the limit is 6"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("7 of %s: %q, %v; want %q", name, got, err, want)
		}
	}
	if len(needs) != len(CountNames()) {
		t.Errorf("%d counts need something, and there are %d", len(needs), len(CountNames()))
	}
	var written map[string]int
	data, err := json.Marshal(Counts{})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	for _, name := range CountNames() {
		if _, there := written[name]; !there {
			t.Errorf("JSON has no %q", name)
		}
	}
}

func TestExceedsDoesNotPassWhatIsNotKnown(t *testing.T) {
	nodes := 3
	for name, test := range map[string]struct {
		reason string
		review Review
		text   string
		want   []string
		err    error
	}{
		"no pods":           {"0 of nothing known is no 0", Review{Compared: Compared{Nodes: &nodes}}, "evictions>0", nil, ErrNotKnown},
		"no nodes":          {"nor are nodes", Review{}, "nodesChanged>0", nil, ErrNotKnown},
		"nodes are enough":  {"nodes change without pods", Review{Compared: Compared{Nodes: &nodes}}, "nodesChanged>0", nil, nil},
		"files are enough":  {"pools are always known", Review{Summary: Summary{Counts: Counts{PoolsDeleted: 2}}}, "poolsDeleted>0", []string{"poolsDeleted: 2, and the limit is 0"}, nil},
		"other is exceeded": {"what is not known is the worse", Review{Summary: Summary{Counts: Counts{PoolsDeleted: 2}}}, "poolsDeleted>0,evictions>0", nil, ErrNotKnown},
		"none":              {"nothing is asked", Review{}, "poolsDeleted>0", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			thresholds, err := ParseThresholds(test.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := test.review.Exceeds(thresholds)
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("%s: error %v; want %v", test.reason, err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// FuzzParseThresholds holds that what is read is written and read again as the
// same, and that nothing else is taken.
func FuzzParseThresholds(f *testing.F) {
	for _, text := range []string{"evictions>0", "nodesChanged>=100,conflicts>3", "", ">", "evictions>=0", "évictions>1", "evictions>99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		thresholds, err := ParseThresholds(text)
		if err != nil {
			return
		}
		var again []string
		for _, threshold := range thresholds {
			if threshold.TooMany < 1 {
				t.Errorf("%q: a threshold of %d", text, threshold.TooMany)
			}
			again = append(again, threshold.String())
		}
		if slices.ContainsFunc(thresholds, func(t Threshold) bool { return t.TooMany > math.MaxInt32 }) {
			return // one more than the largest number that is read
		}
		got, err := ParseThresholds(strings.Join(again, ","))
		if err != nil || !slices.Equal(got, thresholds) {
			t.Errorf("%q became %v, then %v, %v", text, thresholds, got, err)
		}
	})
}
