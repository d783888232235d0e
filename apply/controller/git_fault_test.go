package controller

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// canary stands for whatever a server may say that is nobody's business.
const canary = "s3cr3t-canary"

// answer is a server's refusal with a secret in every part of it.
func answer(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="`+canary+`"`)
		w.Header().Set("X-Token", canary)
		w.WriteHeader(code)
		fmt.Fprintf(w, "token %s for user %s\n", canary, canary)
	}
}

// spoken is what a server says in the words of the Git protocol.
func spoken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	text := "ERR " + canary + "\n"
	fmt.Fprintf(w, "001e# service=git-upload-pack\n0000%04x%s", len(text)+4, text)
}

// Whatever is the matter with a repository, the pools stay, the status says it
// in the loops' own words, other sources go on, and all is well again when the
// repository is.
func TestGitTrouble(t *testing.T) {
	cluster.Long(t)
	w := newGitWorld(t)
	repo := newRepository(t)
	server := repo.serve(t)
	healthy := newRepository(t)
	w.node("a1", role("a"))
	good := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("ill", server.url())
	w.follows("ill", good)
	w.poolsReady("a")
	w.source("healthy", healthy.url())

	setRef := func(branch string) func(*gitWorld) {
		return func(w *gitWorld) {
			w.changeSource("ill", func(src *v1.NodePoolSource) {
				src.Spec.Ref = nil
				if branch != "" {
					src.Spec.Ref = &v1.GitRef{Branch: branch}
				}
			})
		}
	}
	ill := func(fault http.HandlerFunc) func(*gitWorld) { return func(*gitWorld) { server.ill(fault) } }
	well := func(*gitWorld) { server.well() }
	for i, tc := range []struct {
		name   string
		reason string
		fault  func(*gitWorld)
		repair func(*gitWorld)
		why    string
	}{
		{"refuses connections", "nobody listens", func(*gitWorld) { server.refuse() }, func(*gitWorld) { server.accept() }, "Unreachable"},
		{"hangs", "it accepts and never answers", ill(server.hang), well, "Timeout"},
		{"hangs within the pack", "the list of refs is answered, the pack is not", ill(func(rw http.ResponseWriter, r *http.Request) {
			if kindOfGit(r) == packing {
				server.hang(rw, r)
				return
			}
			server.backend.ServeHTTP(rw, r)
		}), well, "Timeout"},
		{"answers 500", "its own trouble", ill(answer(500)), well, "ServerFailed"},
		{"answers 401", "the repository became private", ill(answer(401)), well, "Unauthorized"},
		{"answers 403", "the address is no longer let in", ill(answer(403)), well, "Unauthorized"},
		{"answers 404", "the repository moved, or is hidden", ill(answer(404)), well, "RepositoryMissing"},
		{"answers something else", "a page for people to log in on", ill(answer(200)), well, "ServerFailed"},
		{"says an error in the protocol", "servers put what they like there", ill(spoken), well, "ServerFailed"},
		{"branch missing", "it was deleted or never pushed", setRef("gone"), setRef(""), "RefMissing"},
	} {
		went := t.Run(tc.name, func(t *testing.T) {
			w, repo, healthy := w.in(t), &repository{t: t, dir: repo.dir}, &repository{t: t, dir: healthy.dir}
			mark := w.mark()
			tc.fault(w)
			// What is committed meanwhile makes the loop ask for a pack as well.
			tier := fmt.Sprint(i + 1)
			next := repo.commit(files{"pools/a.yaml": poolFile("a", tier)})
			w.stands("ill", v1.FetchedCondition, metav1.ConditionFalse, tc.why)
			w.wroteOnly(mark, "patch nodepoolsources/status ill", "patch nodepoolsources healthy", "patch nodepoolsources/status healthy")
			w.carries("a1", tiers("a", fmt.Sprint(i)))
			other := healthy.commit(files{"pools/other.yaml": poolFile("other", tier)})
			w.follows("healthy", other)

			tc.repair(w)
			w.follows("ill", next)
			w.carries("a1", tiers("a", tier))
			w.poolsReady("a", "other")
		})
		if !went {
			t.Fatalf("the case is there because %s; what comes after it would only fail as well", tc.reason)
		}
	}
	src, err := w.readSource("ill")
	w.do(err)
	reported := append(w.eventsOf(src), w.log.text(), fmt.Sprint(messages(src)))
	for _, text := range reported {
		wantNoSecret(t, canary, text)
	}
	if !strings.Contains(w.log.text(), `"read revision"`) || len(w.eventsOf(src)) == 0 {
		t.Errorf("logs and events were not there to be looked at: %v", w.eventsOf(src))
	}
}

// While a server is ill, its status says so once and stays as it is: no write
// and no event for each attempt.
func TestGitTroubleIsReportedOnce(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	server := repo.serve(t)
	good := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("once", server.url())
	w.follows("once", good)
	w.poolsReady("a")
	server.ill(answer(500))
	w.stands("once", v1.FetchedCondition, metav1.ConditionFalse, "ServerFailed")
	mark := w.mark()
	server.requests()
	w.eventually("three more attempts", func() error {
		if n := server.asked(listing); n < 3 {
			return fmt.Errorf("%d attempts", n)
		}
		return nil
	})
	if writes := w.written(mark); len(writes) > 0 {
		t.Errorf("the loops wrote %q while nothing changed", writes)
	}
	src, err := w.readSource("once")
	w.do(err)
	count := 0
	for _, event := range w.eventsOf(src) {
		if strings.HasPrefix(event, "ServerFailed: ") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d events of the one trouble, want 1: %v", count, w.eventsOf(src))
	}
}

// A host that does not answer, with more sources than are polled at the same time, keeps no
// source of another host waiting.
func TestGitManyThatHang(t *testing.T) {
	w := newGitWorldOf(t, 2*waitTimeout)
	repo := newRepository(t)
	server := repo.serve(t)
	server.ill(server.hang)
	for i := range 12 {
		w.source(fmt.Sprintf("hangs-%d", i), server.url())
	}
	w.eventually("half of the workers hang", func() error {
		if n := server.asked(listing); n < sources.Workers/2 {
			return fmt.Errorf("%d hang", n)
		}
		return nil
	})
	healthy := newRepository(t)
	first := healthy.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("healthy", healthy.url())
	w.follows("healthy", first)
	second := healthy.commit(files{"pools/a.yaml": poolFile("a", "1")})
	w.follows("healthy", second)
	if n := server.asked(listing); n != sources.Workers/2 {
		t.Errorf("%d sources of the host that hangs are polled, want %d", n, sources.Workers/2)
	}
	// When it answers, those that have found no place are polled as well.
	repo.commit(files{"pools/b.yaml": poolFile("b", "0")})
	server.well()
	server.refuse()
	server.accept()
	for i := range 12 {
		w.sourceIs(fmt.Sprintf("hangs-%d", i), "is polled", func(src *v1.NodePoolSource) error {
			if src.Status.LastAttemptedRevision == "" {
				return fmt.Errorf("no revision was read: %v", messages(src))
			}
			return nil
		})
	}
}
