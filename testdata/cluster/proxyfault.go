package cluster

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is what a [Proxy] does to some requests. The fields from Delay on
// define it; several apply in their order.
type Fault struct {
	// Verbs and Resources choose the requests, as [Request] names them: "patch",
	// "nodes", "nodes/status". Empty means all.
	Verbs, Resources []string
	// OnlyWrites chooses none but those that can change something: a dry run
	// cannot.
	OnlyWrites bool
	// Share is how many of the chosen requests are disturbed, more than 0 and up
	// to 1; 0 means all.
	Share float64
	// Times is how many are disturbed at most; 0 means no limit.
	Times int

	// Delay is how long a request waits before it goes on.
	Delay time.Duration
	// Hold keeps a request until it is closed.
	Hold <-chan struct{}
	// Before is what somebody does who is faster than a request.
	Before func()
	// DropRequest drops the connection before the API server sees the request.
	// Whatever else is under way on that connection is lost as well.
	DropRequest bool
	// Code is the HTTP status that is answered instead of the API server, with a
	// Retry-After of so many seconds when that is not 0.
	Code       int
	RetryAfter int
	// DropAnswer drops the connection when the API server has acted and before the
	// client receives the response.
	DropAnswer bool
	// CutAfter truncates a response after this many bytes, without a regular end;
	// 0 means not at all.
	CutAfter int64
	// HoldAnswer holds the body of a response until it is closed. It also affects
	// running watches, and all chosen requests regardless of Share.
	HoldAnswer <-chan struct{}
}

// fault is a Fault that is in force.
type fault struct {
	Fault
	left int
}

// Disturb activates faults, in place of earlier ones. Of several that choose a
// request, the first one disturbs it. Without any, the proxy disturbs nothing
// from now on.
func (p *Proxy) Disturb(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
	for _, each := range faults {
		p.faults = append(p.faults, &fault{Fault: each, left: each.Times})
	}
}

// chooses reports whether a fault is about a request.
func (f *Fault) chooses(p *Passage) bool {
	resource := p.Object.Resource
	if p.Object.Subresource != "" {
		resource += "/" + p.Object.Subresource
	}
	write := Request{Verb: p.Verb, Object: p.Object, DryRun: p.DryRun}.Write()
	return (!f.OnlyWrites || write) && (len(f.Verbs) == 0 || slices.Contains(f.Verbs, p.Verb)) &&
		(len(f.Resources) == 0 || slices.Contains(f.Resources, resource))
}

// choose returns the fault that disturbs a request, or nil. The lock is held.
func (p *Proxy) choose(passage *Passage) *fault {
	for _, f := range p.faults {
		if !f.chooses(passage) || f.Times > 0 && f.left == 0 {
			continue
		}
		if f.Share > 0 && f.Share < 1 && p.Dice() >= f.Share {
			continue
		}
		f.left--
		return f
	}
	return nil
}

// holding returns what currently holds the response to such a request, nil for nothing.
func (p *Proxy) holding(passage *Passage) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if f.HoldAnswer != nil && f.chooses(passage) {
			return f.HoldAnswer
		}
	}
	return nil
}

// wait waits as a fault requires, and reports whether the client is still connected.
func (p *passing) wait(ctx context.Context, hold <-chan struct{}, delay time.Duration) bool {
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// refuse answers in place of the API server, with a Status as it would.
func refuse(w http.ResponseWriter, f Fault) {
	reasons := map[int]metav1.StatusReason{
		http.StatusNotFound:            metav1.StatusReasonNotFound,
		http.StatusConflict:            metav1.StatusReasonConflict,
		http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(f.Code), Reason: reasons[f.Code],
		Message: "a fault of the test: " + http.StatusText(f.Code),
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(f.RetryAfter)}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Code)
	_ = json.NewEncoder(w).Encode(status) // a client that is gone has lost nothing
}
