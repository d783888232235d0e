package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"time"
)

// Request is one request to the API server, according to its audit log.
type Request struct {
	User   string // who asked; who was impersonated, with "--as"
	Verb   string // get, list, watch, create, update, patch (apply too), delete, deletecollection
	Object Object

	// FieldManager and DryRun are those of the URL.
	FieldManager string
	DryRun       bool

	UserAgent string
	Received  time.Time
	Code      int // HTTP status; 0 while the request is being served
}

// Object is what a request is about. Name is empty for whole collections, and
// everything is empty for requests such as /healthz.
type Object struct {
	Group, Resource, Subresource, Namespace, Name string
}

// Write reports whether the request can change something in the cluster. A dry
// run cannot, and neither can a review of access or a request for a token:
// these are creates that store nothing.
func (r Request) Write() bool {
	switch r.Object.Group {
	case "authorization.k8s.io", "authentication.k8s.io":
		return false
	}
	if r.DryRun || r.Object.Subresource == "token" {
		return false
	}
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// String describes the request for a test's failure: "patch nodes/a by kwok: 200".
func (r Request) String() string {
	object := r.Object.Resource
	for _, part := range []string{r.Object.Namespace, r.Object.Name, r.Object.Subresource} {
		if part != "" {
			object += "/" + part
		}
	}
	return fmt.Sprintf("%s %s by %s: %d", r.Verb, object, r.User, r.Code)
}

// errNoAudit means that there is no audit log to read.
var errNoAudit = errors.New("the cluster keeps no audit log; start it with Options.Audit")

// AuditMark returns where the audit log ends now. Give it to [Cluster.Audit].
func (c *Cluster) AuditMark() (int64, error) {
	if c.auditLog == "" {
		return 0, errNoAudit
	}
	info, err := os.Stat(c.auditLog)
	if err != nil {
		return 0, fmt.Errorf("read the audit log: %w", err)
	}
	return info.Size(), nil
}

// Audit returns the requests since a mark, 0 for all, in the order in which
// they arrived. A request is logged before the API server acts on it, so that
// no effect of a request is visible earlier than the request. Requests which
// were being served at the mark are left out.
func (c *Cluster) Audit(mark int64) ([]Request, error) {
	if c.auditLog == "" {
		return nil, errNoAudit
	}
	file, err := os.Open(c.auditLog)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	defer file.Close() // it was only read
	// One byte back: a mark at the end of a line skips nothing but the line's
	// end, and a mark within a line that was being written skips the rest of it.
	reader := bufio.NewReaderSize(io.NewSectionReader(file, max(0, mark-1), 1<<62), 1<<20)
	if mark > 0 {
		if _, err := reader.ReadBytes('\n'); err != nil {
			return nil, ignoreEOF(err)
		}
	}
	var requests []Request
	index := map[string]int{} // audit id to position in requests
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return requests, ignoreEOF(err) // an unfinished line is read next time
		}
		entry, err := parseEntry(whole(line))
		if err != nil {
			return nil, err
		}
		request := entry.request()
		if i, seen := index[entry.AuditID]; seen {
			requests[i] = request
			continue
		}
		if mark > 0 && entry.Stage != "RequestReceived" {
			continue // the request arrived before the mark
		}
		index[entry.AuditID] = len(requests)
		requests = append(requests, request)
	}
}

// WritesBy returns those of the requests by which the user, or any user when it
// is empty, wanted to change something: including refused ones, by their Code,
// and renewed leases.
func WritesBy(user string, requests []Request) []Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r Request) bool {
		return !r.Write() || (user != "" && r.User != user)
	})
}

// auditEntry is the part of audit.k8s.io/v1 Event which is read here.
type auditEntry struct {
	AuditID          string     `json:"auditID"`
	Stage            string     `json:"stage"`
	Verb             string     `json:"verb"`
	RequestURI       string     `json:"requestURI"`
	UserAgent        string     `json:"userAgent"`
	User             auditUser  `json:"user"`
	ImpersonatedUser *auditUser `json:"impersonatedUser"`
	ObjectRef        struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
}

type auditUser struct {
	Username string `json:"username"`
}

// entryBegin is how the API server begins each entry.
var entryBegin = []byte(`{"kind":"Event",`)

// whole is the last entry of a line: where an API server was killed while it wrote one,
// that of its successor follows on the same line.
func whole(line []byte) []byte { return line[max(0, bytes.LastIndex(line, entryBegin)):] }

func parseEntry(line []byte) (auditEntry, error) {
	var entry auditEntry
	if err := json.Unmarshal(line, &entry); err != nil {
		return entry, fmt.Errorf("read the audit log: %w in %q", err, bytes.TrimSpace(line))
	}
	return entry, nil
}

func (e auditEntry) request() Request {
	r := Request{
		User: e.User.Username,
		Verb: e.Verb,
		Object: Object{
			Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
			Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		},
		UserAgent: e.UserAgent,
		Received:  e.RequestReceivedTimestamp,
		Code:      e.ResponseStatus.Code,
	}
	if e.ImpersonatedUser != nil {
		r.User = e.ImpersonatedUser.Username
	}
	// A URL which cannot be parsed has no parameters.
	if u, err := url.ParseRequestURI(e.RequestURI); err == nil {
		r.FieldManager = u.Query().Get("fieldManager")
		r.DryRun = u.Query().Has("dryRun")
	}
	return r
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("read the audit log: %w", err)
}
