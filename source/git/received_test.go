package git

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/nodepools/nodepools/testdata/sources"
)

// What is received is counted, however a repository is read: a fetch is more than the
// revision alone, and no less than the file that comes with it.
func TestReceivedIsCounted(t *testing.T) {
	repo := sources.NewRepo(t)
	// What git compresses on its way is to stay longer than all else that is sent.
	content := ""
	for random := rand.New(rand.NewPCG(1, 1)); len(content) < 64<<10; {
		content += strconv.FormatUint(random.Uint64(), 36)
	}
	repo.Commit(map[string]string{"pool.yaml": content})
	ssh := serveSSH(t)
	for name, r := range map[string]*Repository{
		"http": {URL: serveHTTP(t, repo, false, nil).repoURL()},
		"ssh":  {URL: "ssh://git@" + ssh.address + repo.Dir, SSHAuth: ssh.auth()},
		"file": {URL: repo.URL()},
	} {
		t.Run(name, func(t *testing.T) {
			r.Received = &atomic.Int64{}
			revision, _, err := r.Latest(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			fetched := r.Received.Load()
			if fetched < int64(len(content)/2) {
				t.Errorf("a fetch has received %d bytes, and the file alone has %d", fetched, len(content))
			}
			if _, snapshot, err := r.Latest(t.Context(), revision); err != nil || snapshot != nil {
				t.Fatalf("the same revision is fetched again: %v", err)
			}
			if polled := r.Received.Load() - fetched; polled <= 0 || polled >= fetched {
				t.Errorf("a poll has received %d bytes, a fetch %d", polled, fetched)
			}
		})
	}
}
