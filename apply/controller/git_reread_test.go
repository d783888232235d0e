package controller

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A server that breaks once in a way that looks like a revision which is too large: the
// pools stay, the revision is not fetched at each poll, and who asks for a poll has it
// read again, though there is no other commit.
func TestGitRevisionThatLookedTooLargeIsReadAgain(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	server := repo.serve(t)
	w.node("a1", role("a"))
	good := repo.commit(files{"pools/a.yaml": poolFile("a", "0")})
	w.source("fleet", server.url())
	w.follows("fleet", good)
	w.carries("a1", tiers("a", "0"))

	server.ill(func(rw http.ResponseWriter, r *http.Request) {
		if kindOfGit(r) == listing {
			server.backend.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		pack := append([]byte("\x01PACK"), binary.BigEndian.AppendUint64(nil, 2<<32|1<<31)...)
		fmt.Fprintf(rw, "000dpackfile\n%04x%s0000", 4+len(pack), pack)
	})
	next := repo.commit(files{"pools/a.yaml": poolFile("a", "1")})
	w.stands("fleet", v1.FetchedCondition, metav1.ConditionFalse, "TooLarge")
	server.requests()
	w.eventually("three polls of the same revision", func() error {
		if n := server.asked(listing); n < 3 {
			return fmt.Errorf("%d lists", n)
		}
		return nil
	})
	if _, packs := server.requests(); packs > 0 {
		t.Errorf("a revision that is refused was fetched %d times more", packs)
	}
	w.carries("a1", tiers("a", "0"))

	server.well()
	w.request("fleet", "again")
	w.follows("fleet", next)
	w.carries("a1", tiers("a", "1"))
}
