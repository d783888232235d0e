package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { Main(m, Options{}) }

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

// What a lagging API server shows is late, and what is asked of its store is not older for
// that.
func TestLag(t *testing.T) {
	c := New(t, Options{})
	second, program, err := c.AddAPIServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const lag = 300 * time.Millisecond
	if err := c.Lag(program, lag); err != nil {
		t.Fatal(err)
	}
	if err := c.Lag("etcd", lag); err == nil {
		t.Error("etcd was made to lag")
	}
	watch, err := clientFor(t, second).CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := clientFor(t, c.Config).CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	created := time.Now()
	listed, err := clientFor(t, second).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(listed.Items, func(node corev1.Node) bool { return node.Name == "late" }) {
		t.Error("a list of the store is behind")
	}
	<-watch.ResultChan()
	if after := time.Since(created); after < lag/2 {
		t.Errorf("the node was seen after %s, want %s at least", after, lag/2)
	}
}

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
