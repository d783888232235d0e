package cluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Passage is one request to a [Proxy].
type Passage struct {
	// Verb, Object and DryRun are as in [Request].
	Verb   string
	Object Object
	DryRun bool
	// Whole reports whether all objects are requested, by a list, or by a watch
	// that begins with them.
	Whole bool
	// Came is when the request arrived.
	Came time.Time
	// Code is the HTTP status that the client received; 0 for none. Answered is
	// when it was.
	Code     int
	Answered time.Time
	// Disturbed reports whether a fault concerned it.
	Disturbed bool
}

// String describes the passage for a test's failure: "patch nodes/a: 500".
func (p Passage) String() string {
	parts := []string{p.Object.Resource, p.Object.Namespace, p.Object.Name, p.Object.Subresource}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return fmt.Sprintf("%s %s: %d", p.Verb, strings.Join(parts, "/"), p.Code)
}

// Seen returns the requests that have come since a moment, in their order.
func (p *Proxy) Seen(since time.Time) []Passage {
	p.mu.Lock()
	defer p.mu.Unlock()
	var seen []Passage
	for _, passage := range p.passages {
		if !passage.Came.Before(since) {
			seen = append(seen, *passage)
		}
	}
	return seen
}

// passing is a request on its way through the proxy.
type passing struct {
	*Passage
	fault *fault
	cut   context.CancelCauseFunc
}

type passingKey struct{}

// admit records a request, and chooses its fault.
func (p *Proxy) admit(r *http.Request) *passing {
	verb, object := parseRequest(r)
	query := r.URL.Query()
	passage := &Passage{Verb: verb, Object: object, DryRun: query.Has("dryRun")}
	from := query.Get("resourceVersion")
	passage.Whole = verb == "list" || verb == "watch" && (query.Get("sendInitialEvents") == "true" || from == "" || from == "0")
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.choose(passage)
	passage.Came, passage.Disturbed = time.Now(), f != nil
	p.passages = append(p.passages, passage)
	return &passing{Passage: passage, fault: f}
}

// answered records the response to the client.
func (p *Proxy) answered(passing *passing, code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	passing.Code, passing.Answered = code, time.Now()
}

// parseRequest reads what a request is about from its URL, as the API server
// does.
func parseRequest(r *http.Request) (verb string, object Object) {
	verb = strings.ToLower(r.Method)
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		object.Group, parts = parts[1], parts[3:]
	default:
		return verb, Object{}
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		object.Namespace, parts = parts[1], parts[2:]
	}
	for i, field := range []*string{&object.Resource, &object.Name, &object.Subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	switch watch := r.URL.Query().Get("watch"); {
	case r.Method == http.MethodGet && object.Name == "" && watch != "" && watch != "0" && watch != "false":
		verb = "watch"
	case r.Method == http.MethodGet && object.Name == "":
		verb = "list"
	case r.Method == http.MethodPost:
		verb = "create"
	case r.Method == http.MethodPut:
		verb = "update"
	case r.Method == http.MethodDelete && object.Name == "":
		verb = "deletecollection"
	}
	return verb, object
}
