package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/daemon"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// The lease is used wherever it can be had. Where it cannot, that is said once, unless
// it was asked for.
func TestLeaseWhereItCanBeHad(t *testing.T) {
	c := cluster.Shared(t)
	api, err := client.New(c.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "lease-"}}
	if err := api.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(t.Context(), namespace) })
	nobody, err := c.AddUser("nobody in particular")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason    string
		namespace string
		config    *rest.Config
		has       bool
	}{
		"namespace is there":  {"who may, uses it", namespace.Name, c.Config, true},
		"no such namespace":   {"nothing is installed: a laptop and an empty cluster", "nowhere", c.Config, false},
		"no right to a lease": {"who may write nodes may have no right to leases", namespace.Name, nobody, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			l, err := daemon.NewLease(test.config, test.namespace)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Available(t.Context()); (err == nil) != test.has {
				t.Errorf("got %v, want that it can be had: %t, as %s", err, test.has, test.reason)
			}
		})
	}
	said := 0
	without := func(error) { said++ }
	for _, test := range []struct {
		options runOptions
		has     bool
		said    int
	}{
		{runOptions{leaderElect: true}, false, 1}, // there is no nodepools-system
		{runOptions{leaderElect: true, leaderElectSet: true, leaseNamespace: "nowhere"}, true, 1},
		{runOptions{leaderElect: true, leaseNamespace: namespace.Name}, true, 1},
		{runOptions{}, false, 1},
	} {
		l, err := test.options.lease(t.Context(), c.Config, without)
		if err != nil || (l != nil) != test.has || said != test.said {
			t.Errorf("%+v: got a lease: %t, said %d times, %v; want %t, %d", test.options, l != nil, said, err, test.has, test.said)
		}
	}
}
