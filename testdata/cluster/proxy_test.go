package cluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// proxied is a proxy, a client that goes through it as a user of its own, and one
// that goes round it.
type proxied struct {
	*Proxy
	through, direct kubernetes.Interface
}

func newProxied(t *testing.T) proxied {
	t.Helper()
	c := Shared(t)
	user, err := c.AddUser("proxied", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := c.Proxy(user)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	p := proxied{Proxy: proxy, through: clientFor(t, proxy.Config), direct: clientFor(t, c.Config)}
	t.Cleanup(func() {
		all := metav1.ListOptions{}
		if err := p.direct.CoreV1().ConfigMaps("default").DeleteCollection(context.Background(), metav1.DeleteOptions{}, all); err != nil {
			t.Error(err)
		}
	})
	return p
}

// create makes a ConfigMap through the proxy, and reports whether it is there then.
func (p proxied) create(t *testing.T, name string) (there bool, err error) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err = p.through.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})
	_, found := p.direct.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if found != nil && !apierrors.IsNotFound(found) {
		t.Fatal(found)
	}
	return found == nil, err
}

func TestProxyFaults(t *testing.T) {
	p := newProxied(t)
	status := func(err error) metav1.StatusReason { return apierrors.ReasonForError(err) }
	for name, tc := range map[string]struct {
		reason string
		fault  Fault
		fails  bool
		why    metav1.StatusReason
		there  bool
		code   int
	}{
		"none":          {"a proxy is transparent", Fault{Verbs: []string{"delete"}, DropRequest: true}, false, "", true, 201},
		"others":        {"a fault is for the resources that it names", Fault{Resources: []string{"configmaps/status"}, DropRequest: true}, false, "", true, 201},
		"request lost":  {"the API server has not seen it", Fault{DropRequest: true}, true, "", false, 0},
		"answer lost":   {"the API server has acted, and nobody knows", Fault{DropAnswer: true}, true, "", true, 0},
		"delayed":       {"it only takes longer", Fault{Delay: 100 * time.Millisecond}, false, "", true, 201},
		"not found":     {"in the words of the API server", Fault{Code: 404}, true, metav1.StatusReasonNotFound, false, 404},
		"conflict":      {"in the words of the API server", Fault{Code: 409}, true, metav1.StatusReasonConflict, false, 409},
		"too many":      {"in the words of the API server", Fault{Code: 429}, true, metav1.StatusReasonTooManyRequests, false, 429},
		"internal":      {"in the words of the API server", Fault{Code: 500}, true, metav1.StatusReasonInternalError, false, 500},
		"unavailable":   {"in the words of the API server", Fault{Code: 503}, true, metav1.StatusReasonServiceUnavailable, false, 503},
		"answer is cut": {"what is left of it cannot be read", Fault{CutAfter: 20}, true, "", true, 201},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			tc.fault.Verbs = append(tc.fault.Verbs, "create")
			if name == "none" {
				tc.fault.Verbs = tc.fault.Verbs[:1]
			}
			p.Disturb(tc.fault)
			defer p.Disturb()
			there, err := p.create(t, fmt.Sprint("map-", began.UnixNano()))
			if (err != nil) != tc.fails || err != nil && tc.why != "" && status(err) != tc.why || there != tc.there {
				t.Errorf("got error %v (%s), written %t; want failure %t (%s), written %t: %s", err, status(err), there, tc.fails, tc.why, tc.there, tc.reason)
			}
			seen := p.Seen(began)
			if len(seen) != 1 || seen[0].Verb != "create" || seen[0].Object.Resource != "configmaps" || seen[0].Code != tc.code {
				t.Errorf("the proxy has seen %v, want one create with code %d", seen, tc.code)
			}
		})
	}
}

// A fault may concern a share of the requests, and so many at most.
func TestProxyShareAndTimes(t *testing.T) {
	p := newProxied(t)
	rolls := []float64{0.1, 0.9, 0.4, 0.6, 0.2}
	next := 0
	p.Dice = func() float64 { next++; return rolls[(next-1)%len(rolls)] }
	p.Disturb(Fault{Code: http.StatusConflict, Share: 0.5, Times: 2})
	var failed []int
	for i := range rolls {
		if _, err := p.create(t, fmt.Sprint("share-", i)); err != nil {
			failed = append(failed, i)
		}
	}
	if want := []int{0, 2}; !slices.Equal(failed, want) {
		t.Errorf("requests %v failed, want %v: of those below a half the first two", failed, want)
	}
}

// The client waits for as long as Retry-After says.
func TestProxyRetryAfter(t *testing.T) {
	p := newProxied(t)
	p.Disturb(Fault{Code: http.StatusTooManyRequests, RetryAfter: 1, Times: 1})
	if there, err := p.create(t, "patient"); err != nil || !there {
		t.Errorf("got error %v, written %t", err, there)
	}
	seen := p.Seen(time.Time{})
	if len(seen) != 2 || seen[0].Code != 429 || seen[1].Code != 201 {
		t.Fatalf("the proxy has seen %v", seen)
	}
	if gap := seen[1].Came.Sub(seen[0].Came); gap < time.Second {
		t.Errorf("the client came back after %s, and Retry-After was a second", gap)
	}
}

// A watch is cut at once, in the middle of an event, or with its connection. It
// ends then, and brings nothing that is half.
func TestProxyCutsWatches(t *testing.T) {
	p := newProxied(t)
	for name, cut := range map[string]func() int{
		"at once":       func() int { return p.CutWatches("configmaps") },
		"midway":        func() int { return p.CutWatchesMidway() },
		"connection":    func() int { return p.CloseConnections() },
		"not the other": func() int { return p.CutWatches("nodes") + 1 },
	} {
		t.Run(name, func(t *testing.T) {
			running, err := p.through.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				t.Fatal(err)
			}
			defer running.Stop()
			p.touch(t, name+" first")
			await(t, running, name+" first")
			if n := cut(); n != 1 {
				t.Fatalf("%d watches were cut, want 1", n)
			}
			p.touch(t, name+" second")
			if name == "not the other" {
				await(t, running, name+" second")
				return
			}
			for event := range running.ResultChan() {
				if object, ok := event.Object.(*corev1.ConfigMap); ok {
					t.Errorf("after the cut: %s %v", event.Type, object.Data)
				}
			}
		})
	}
}

// Events of a watch are held, and arrive when the hold ends.
func TestProxyHoldsAnswers(t *testing.T) {
	p := newProxied(t)
	running, err := p.through.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer running.Stop()
	p.touch(t, "before")
	await(t, running, "before")
	hold := make(chan struct{})
	p.Disturb(Fault{Verbs: []string{"watch"}, Resources: []string{"configmaps"}, HoldAnswer: hold})
	p.touch(t, "held")
	select {
	case event := <-running.ResultChan():
		t.Errorf("it was not held: %v", event)
	case <-time.After(300 * time.Millisecond):
	}
	close(hold)
	await(t, running, "held")
}

// Nobody else gets in with the user's rights.
func TestProxyIsForItsClient(t *testing.T) {
	p := newProxied(t)
	stranger := rest.CopyConfig(p.Config)
	stranger.BearerToken = "guessed"
	_, err := clientFor(t, stranger).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("got %v", err)
	}
}

func TestParseRequest(t *testing.T) {
	for path, want := range map[string]string{
		"GET /api/v1/nodes": "list nodes: 0",
		"GET /api/v1/nodes?watch=true&sendInitialEvents=true": "watch nodes: 0",
		"GET /api/v1/nodes/a":                                           "get nodes/a: 0",
		"PATCH /api/v1/nodes/a/status":                                  "patch nodes/a/status: 0",
		"POST /api/v1/namespaces/default/pods":                          "create pods/default: 0",
		"GET /api/v1/namespaces/default":                                "get namespaces/default: 0",
		"DELETE /apis/nodes.lailin.xyz/v1/nodepools/a":                  "delete nodepools/a: 0",
		"DELETE /apis/nodes.lailin.xyz/v1/nodepools":                    "deletecollection nodepools: 0",
		"PUT /apis/apps/v1/namespaces/default/deployments/web/scale":    "update deployments/default/web/scale: 0",
		"GET /apis/nodes.lailin.xyz/v1":                                 "get : 0",
		"GET /readyz":                                                   "get : 0",
		"POST /apis/events.k8s.io/v1/namespaces/default/events?dryRun=": "create events/default: 0",
	} {
		method, url, _ := strings.Cut(path, " ")
		request, err := http.NewRequestWithContext(t.Context(), method, "https://host"+url, nil)
		if err != nil {
			t.Fatal(err)
		}
		verb, object := parseRequest(request)
		if got := (Passage{Verb: verb, Object: object}).String(); got != want {
			t.Errorf("%s is taken for %q, want %q", path, got, want)
		}
	}
}

// touch writes a ConfigMap past the proxy.
func (p proxied) touch(t *testing.T, value string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "touched"}, Data: map[string]string{"value": value}}
	_, err := p.direct.CoreV1().ConfigMaps("default").Update(t.Context(), object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = p.direct.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// await waits until a watch brings a value.
func await(t *testing.T, running watch.Interface, value string) {
	t.Helper()
	expired := time.After(timeout)
	for {
		select {
		case event, open := <-running.ResultChan():
			if !open {
				t.Fatalf("the watch ended before it brought %q", value)
			}
			if object, ok := event.Object.(*corev1.ConfigMap); ok && object.Data["value"] == value {
				return
			}
		case <-expired:
			t.Fatalf("the watch did not bring %q within %s", value, timeout)
		}
	}
}
