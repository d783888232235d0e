package examine

import (
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/apply/doctor"
)

// answers is an API server whose clock is another one. A real one has that of this machine.
type answers struct{ date string }

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Header: http.Header{"Date": {a.date}}, Body: http.NoBody}, nil
}

// A lease is judged by the clock of the API server, whatever that of the laptop says.
func TestClockOfTheServer(t *testing.T) {
	for reason, test := range map[string]struct {
		date           string
		renewed        time.Time
		wantLeaseHolds bool
	}{
		"the laptop is behind, and the holder works": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), time.Now().Add(time.Hour), true},
		"the laptop is behind, and nobody works":     {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), time.Now(), false},
		"the laptop is ahead":                        {time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), time.Now().Add(-time.Hour), true},
		"the server does not say":                    {"today", time.Now(), true},
	} {
		r := &reader{}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := r.observeClock(answers{test.date}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("pod"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: test.renewed},
		}}
		if doctor.Current(lease, r.now()) != test.wantLeaseHolds {
			t.Errorf("%s: the lease holds: %t", reason, !test.wantLeaseHolds)
		}
	}
}
