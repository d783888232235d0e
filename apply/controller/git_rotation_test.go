package controller

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// TestGitRotationsUnderLoad rotates the token of several sources 100 times, while polls are
// asked for all the time: some meet the old Secret and the new token, or the other way
// round. Nothing but the status of a source is written meanwhile, a poll that is refused is
// tried once more and no more, and every source works when it is over, without a restart.
func TestGitRotationsUnderLoad(t *testing.T) {
	cluster.Long(t)
	const token, rotations, sources = "s3cr3t-canary-token", 100, 4
	w := newGitWorld(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.DefaultNamespace}}
	w.do(client.IgnoreAlreadyExists(w.Create(t.Context(), namespace))) // another test may have made it
	repo := newRepository(t)
	server := repo.servePrivately(t, token)
	url := server.URL + "/repo"
	w.secret("git", url, map[string][]byte{"bearerToken": []byte(token), "ca.crt": server.ca()})
	commit := func(tier string) string {
		pools := files{}
		for i := range sources {
			pools[fmt.Sprintf("pools/%d/a.yaml", i)] = poolFile(fmt.Sprint("p", i), tier)
		}
		return repo.commit(pools)
	}
	name := func(i int) string { return fmt.Sprint("rotated-", i) }
	first := commit("0")
	allowed := []string{}
	for i := range sources {
		w.node(fmt.Sprint("n", i), role(fmt.Sprint("p", i)))
		w.source(name(i), url, func(src *v1.NodePoolSource) {
			src.Spec.SecretRef, src.Spec.Path = &v1.SecretRef{Name: "git"}, fmt.Sprint("pools/", i)
		})
		allowed = append(allowed, "patch nodepoolsources/status "+name(i))
	}
	for i := range sources {
		w.follows(name(i), first)
		w.carries(fmt.Sprint("n", i), tiers(fmt.Sprint("p", i), "0"))
		w.poolsReady(fmt.Sprint("p", i))
	}

	mark, served, refused := w.mark(), server.served.Load(), server.refused.Load()
	rotated, polled := make(chan struct{}), make(chan struct{})
	var asking sync.WaitGroup
	asked := make([]int, sources)
	for i := range sources {
		asking.Go(func() {
			for {
				w.request(name(i), fmt.Sprint("poll ", asked[i]))
				asked[i]++
				select {
				case polled <- struct{}{}:
				case <-rotated:
					return
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { asking.Wait(); close(ended) }()
	for i := range rotations {
		next := fmt.Sprint(token, "-", i)
		secret := &corev1.Secret{}
		w.do(w.Get(t.Context(), client.ObjectKey{Namespace: manifests.DefaultNamespace, Name: "git"}, secret))
		secret.Data["bearerToken"] = []byte(next)
		if i%2 == 0 {
			server.token.Store(next)
		}
		w.do(w.Update(t.Context(), secret))
		server.token.Store(next)
		select {
		case <-polled:
		case <-ended: // each source has failed
			t.FailNow()
		}
	}
	close(rotated)
	<-ended
	polls := 0
	for _, each := range asked {
		polls += each
	}
	served, refused = server.served.Load()-served, server.refused.Load()-refused
	t.Logf("%d rotations, %d polls asked for, %d requests served and %d refused", rotations, polls, served, refused)
	if polls < rotations || served == 0 || refused == 0 {
		t.Errorf("%d polls were asked for, and %d requests served, %d refused: this is no load", polls, served, refused)
	}
	// A poll that is asked for is one, and so is one of the interval of a second.
	if most := int64(4 * polls); refused > most {
		t.Errorf("%d requests were refused, want at most %d", refused, most)
	}
	w.wroteOnly(mark, allowed...)

	last := commit("rotated")
	for i := range sources {
		w.follows(name(i), last)
		w.carries(fmt.Sprint("n", i), tiers(fmt.Sprint("p", i), "rotated"))
		src := w.mustRead(name(i))
		wantNoSecret(t, token, fmt.Sprint(src.Status, w.eventsOf(src)))
	}
	wantNoSecret(t, token, reachable(w.log.text())+w.series())
}
