package plan

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestPollPeriod(t *testing.T) {
	const maxRetry = 30 * time.Second
	for name, c := range map[string]struct {
		reason             string
		interval           time.Duration
		failures           int
		credential         bool
		retryAfter         time.Duration
		atLeast, atMost    time.Duration
		spreadBelow, above time.Duration
	}{
		"interval":           {reason: "a tenth earlier or later", interval: time.Minute, atLeast: 54 * time.Second, atMost: 66 * time.Second, spreadBelow: 55 * time.Second, above: 65 * time.Second},
		"default":            {reason: "that of the API", atLeast: v1.DefaultInterval * 9 / 10, atMost: v1.DefaultInterval * 11 / 10, spreadBelow: v1.DefaultInterval, above: v1.DefaultInterval},
		"short, first":       {reason: "not slower than before", interval: time.Second, failures: 1, atLeast: 900 * time.Millisecond, atMost: 1100 * time.Millisecond, spreadBelow: time.Second, above: time.Second},
		"short, third":       {reason: "it has doubled twice", interval: time.Second, failures: 3, atLeast: 3600 * time.Millisecond, atMost: 4400 * time.Millisecond, spreadBelow: 4 * time.Second, above: 4 * time.Second},
		"short, many":        {reason: "up to the limit and no further", interval: time.Second, failures: 50, atLeast: 27 * time.Second, atMost: maxRetry, spreadBelow: 28 * time.Second, above: 29 * time.Second},
		"long, failed":       {reason: "sooner than the interval", interval: time.Hour, failures: 1, atLeast: 27 * time.Second, atMost: maxRetry, spreadBelow: 28 * time.Second, above: 29 * time.Second},
		"no credential":      {reason: "no server is asked", interval: time.Hour, credential: true, atLeast: 1800 * time.Millisecond, atMost: 2200 * time.Millisecond, spreadBelow: 2 * time.Second, above: 2 * time.Second},
		"short, no login":    {reason: "not slower than the interval", interval: time.Second, credential: true, atLeast: 900 * time.Millisecond, atMost: 1100 * time.Millisecond, spreadBelow: time.Second, above: time.Second},
		"asked to wait":      {reason: "never earlier, and not all at once", interval: time.Second, failures: 1, retryAfter: 10 * time.Minute, atLeast: 10 * time.Minute, atMost: 11 * time.Minute, spreadBelow: 10*time.Minute + 10*time.Second, above: 10*time.Minute + 50*time.Second},
		"asked to wait less": {reason: "than it waits anyway", interval: time.Minute, failures: 9, retryAfter: time.Second, atLeast: 27 * time.Second, atMost: maxRetry, spreadBelow: 28 * time.Second, above: 29 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			least, most := time.Duration(1<<62), time.Duration(0)
			for i := range 2000 {
				src := &v1.NodePoolSource{}
				src.UID = types.UID(fmt.Sprintf("uid-%d", i%40))
				src.Spec.Interval = metav1.Duration{Duration: c.interval}
				last := Poll{At: time.Unix(1_700_000_000+int64(i), int64(i)), Failures: c.failures, Credential: c.credential, RetryAfter: c.retryAfter}
				period := PollPeriod(src, last, maxRetry)
				if again := PollPeriod(src.DeepCopy(), last, maxRetry); again != period {
					t.Fatalf("%v, and then %v, of one source and poll", period, again)
				}
				least, most = min(least, period), max(most, period)
			}
			if least < c.atLeast || most > c.atMost {
				t.Errorf("between %v and %v, want %v to %v: %s", least, most, c.atLeast, c.atMost, c.reason)
			}
			if least > c.spreadBelow || most < c.above {
				t.Errorf("between %v and %v: all come at once", least, most)
			}
		})
	}
}

// Who asks for a poll gets it at once; while the server asks to wait, not more often than
// once in ten seconds.
func TestPollPeriodOfRequests(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for reason, c := range map[string]struct {
		last Poll
		want time.Duration
	}{
		"the server has asked for nothing":           {Poll{At: at, Requested: true, Forced: at}, 0},
		"the first one while the server asks":        {Poll{At: at, Failures: 1, RetryAfter: time.Hour, Requested: true}, 0},
		"the next one, at once after it":             {Poll{At: at, Failures: 2, RetryAfter: time.Hour, Requested: true, Forced: at}, ForcedPeriod},
		"the next one, of a poll that took a second": {Poll{At: at.Add(time.Second), Failures: 2, RetryAfter: time.Hour, Requested: true, Forced: at}, ForcedPeriod - time.Second},
		"the next one, much later":                   {Poll{At: at.Add(time.Minute), Failures: 3, RetryAfter: time.Hour, Requested: true, Forced: at}, 0},
	} {
		if got := PollPeriod(&v1.NodePoolSource{}, c.last, 30*time.Second); got != c.want {
			t.Errorf("%s: %v, want %v", reason, got, c.want)
		}
	}
}

func TestRereads(t *testing.T) {
	refused := time.Unix(1_700_000_000, 0)
	for reason, c := range map[string]struct {
		requested bool
		after     time.Duration
		want      bool
	}{
		"what it holds will not change":       {after: time.Minute},
		"who asks may know better":            {requested: true, after: time.Minute, want: true},
		"the answer may have been broken":     {after: RereadPeriod, want: true},
		"it is not tried for ever in between": {after: RereadPeriod - time.Second},
	} {
		if got := Rereads(refused, Poll{Requested: c.requested}, refused.Add(c.after)); got != c.want {
			t.Errorf("%s: read again %v, want %v", reason, got, c.want)
		}
	}
}
