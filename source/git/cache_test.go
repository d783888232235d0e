package git

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/leaks"
	"github.com/nodepools/nodepools/testdata/sources"
)

// chance makes repositories of whatever may happen to one.
type chance struct {
	*rand.Rand
	r       *sources.Repo
	commits []string
}

// step commits, or moves main or the tag to any commit that there has been.
func (c *chance) step() {
	switch c.IntN(8) {
	case 0, 1: // forward, back or aside
		c.r.Git("reset", "--quiet", "--hard", c.commits[c.IntN(len(c.commits))])
	case 2: // another history with the same files
		commit := c.r.Git("commit-tree", "-m", fmt.Sprint(c.Int()), c.r.Git("rev-parse", "HEAD^{tree}"))
		c.r.Git("reset", "--quiet", "--hard", commit)
		c.commits = append(c.commits, commit)
	default:
		c.commits = append(c.commits, c.r.Commit(c.files()))
	}
	tag := []string{"tag", "--force", "v1.0.0", c.commits[c.IntN(len(c.commits))]}
	if c.IntN(2) == 0 {
		tag = append([]string{"tag", "--force", "--annotate", "--message=m"}, tag[2:]...)
	}
	c.r.Git(tag...)
}

// files changes, deletes, renames and moves some.
func (c *chance) files() map[string]string {
	changed := map[string]string{}
	for range 1 + c.IntN(4) {
		name := fmt.Sprintf("pools/%c/%d.yaml", 'a'+c.IntN(3), c.IntN(4))
		switch c.IntN(6) {
		case 0:
			changed[name] = "" // deleted
		case 1:
			changed["pools/README.md"] = fmt.Sprintf("-> %d.md", c.IntN(9))
		case 2:
			changed["docs/"+name] = strings.Repeat(fmt.Sprintln(c.IntN(3)), 40)
		default:
			changed[name] = strings.Repeat(fmt.Sprintf("kind: NodePool # %d\n", c.IntN(5)), 1+c.IntN(60))
		}
	}
	changed["pools/always.yaml"] = fmt.Sprint(c.IntN(1000))
	return changed
}

// Whatever happens to a repository, who remembers the last revision reads what somebody
// reads who remembers nothing.
func TestCacheRandomly(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{"version 2": nil, "version 0": old} {
		t.Run(name, func(t *testing.T) {
			c := &chance{Rand: rand.New(rand.NewPCG(7, uint64(len(name)))), r: sources.NewRepo(t)}
			c.commits = []string{c.r.Commit(map[string]string{"pools/always.yaml": "0"})}
			c.r.Git("tag", "v1.0.0")
			c.r.Git("config", "uploadpack.allowFilter", "true")
			w := serveHTTP(t, c.r, false, wrap)
			small := defaultLimits()
			small.FileBytes = 1000 // some files are larger at times
			followers := []*Repository{
				{URL: w.repoURL(), Ref: Ref{Branch: "main"}, Path: "pools"},
				{URL: w.repoURL(), Ref: Ref{Tag: "v1.0.0"}, Path: "pools/a"},
			}
			known := make([]string, len(followers))
			for _, g := range followers {
				g.Cache, g.limits = newCache(t), &small
			}
			read, failed := 0, 0
			for range 25 {
				c.step()
				for i, g := range followers {
					fresh := &Repository{URL: c.r.URL(), Ref: g.Ref, Path: g.Path, limits: &small}
					want, _, wantErr := fresh.Latest(t.Context(), "")
					got, snapshot, err := g.Latest(t.Context(), known[i])
					if got != want || source.Reason(err) != source.Reason(wantErr) && got != known[i] {
						t.Fatalf("%s (%v), want %s (%v)", got, err, want, wantErr)
					}
					if failed += len(source.Reason(err)); err == nil && got != known[i] {
						wantSame(t, c.r, g.Ref, g.Path, got, snapshot)
						read++
					}
					known[i] = got
				}
			}
			if read < 15 || failed == 0 {
				t.Errorf("only %d revisions were read, or none could not be", read)
			}
		})
	}
}

// liar answers requests for a pack by something that was right once, or never.
type liar struct {
	reason string
	answer func(t *testing.T, right []byte, earlier [][]byte) []byte
}

var liars = map[string]liar{
	"nothing":      {"an answer without a byte", func(*testing.T, []byte, [][]byte) []byte { return nil }},
	"half":         {"the pack is cut off", func(_ *testing.T, right []byte, _ [][]byte) []byte { return right[:len(right)/2] }},
	"older pack":   {"what it has sent before", func(_ *testing.T, _ []byte, earlier [][]byte) []byte { return earlier[len(earlier)-1] }},
	"first pack":   {"of another revision, and right in itself", func(_ *testing.T, _ []byte, earlier [][]byte) []byte { return earlier[0] }},
	"flipped bit":  {"the checksum of the pack is wrong", func(_ *testing.T, right []byte, _ [][]byte) []byte { right[len(right)-40] ^= 4; return right }},
	"empty pack":   {"objects are left out, and no one is wrong", func(_ *testing.T, _ []byte, _ [][]byte) []byte { return inSections(encodePack(nil)) }},
	"wrong delta":  {"to a base that nobody has", func(t *testing.T, _ []byte, _ [][]byte) []byte { return inSections(orphan(t)) }},
	"an error":     {"in the words of the server", func(*testing.T, []byte, [][]byte) []byte { return []byte(pkt("ERR no")) }},
	"other answer": {"an answer to ls-refs", func(*testing.T, []byte, [][]byte) []byte { return []byte(pkt(aCommit+" refs/heads/main\n") + "0000") }},
}

// inSections is the answer to a fetch.
func inSections(pack []byte) []byte {
	return []byte(pkt("packfile\n") + pkt("\x01"+string(pack)) + "0000")
}

// orphan is a pack of deltas to objects of another repository.
func orphan(t testing.TB) []byte {
	r := sources.NewRepo(t)
	first := r.Commit(map[string]string{"x.yaml": strings.Repeat("x\n", 90)})
	second := r.Commit(map[string]string{"x.yaml": strings.Repeat("x\n", 89)})
	return []byte(r.Feed(second+"\n^"+first+"\n", "pack-objects", "--revs", "--thin", "--stdout", "-q"))
}

// A server that lies when it knows what is there already: the revision is read whole in a
// second attempt, and where that is a lie, too, there is an error and no snapshot.
func TestCacheOfALiar(t *testing.T) {
	for name, liar := range liars {
		for _, always := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, always %v", name, always), func(t *testing.T) {
				r := sources.NewRepo(t)
				r.Commit(map[string]string{"a.yaml": strings.Repeat("a\n", 50), "b/c.yaml": "c"})
				lying := false
				var earlier [][]byte
				w := serveHTTP(t, r, false, func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
						if !fetches(req) {
							next.ServeHTTP(w, req)
							return
						}
						body, _ := io.ReadAll(req.Body)
						req.Body = io.NopCloser(bytes.NewReader(body))
						answer := httptest.NewRecorder()
						next.ServeHTTP(answer, req)
						text := answer.Body.Bytes()
						if lying && (always || bytes.Contains(body, []byte("have "))) {
							text = liar.answer(t, text, earlier)
						} else {
							earlier = append(earlier, bytes.Clone(text))
						}
						w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
						_, _ = w.Write(text)
					})
				})
				g := &Repository{URL: w.repoURL(), Ref: Ref{Branch: "main"}, Cache: newCache(t)}
				known, _, err := g.Latest(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				r.Commit(map[string]string{"a.yaml": "a\nb\n", "b/c.yaml": "d"})
				lying = true
				before := len(w.requests())
				revision, snapshot, err := g.Latest(t.Context(), known)
				if requests := len(w.requests()) - before; requests > 5*maxMoves {
					t.Errorf("%d requests", requests)
				}
				if always {
					if err == nil || snapshot != nil {
						t.Fatalf("%s: %+v, %v", liar.reason, snapshot, err)
					}
				} else if err != nil {
					t.Fatalf("%s: %v", liar.reason, err)
				} else {
					wantSame(t, r, g.Ref, "", revision, snapshot)
				}
				lying = false
				r.Commit(map[string]string{"a.yaml": "a\nb\nc\n"})
				revision, snapshot, err = g.Latest(t.Context(), known)
				if err != nil {
					t.Fatalf("once it is honest again: %v", err)
				}
				wantSame(t, r, g.Ref, "", revision, snapshot)
			})
		}
	}
}

// damage changes a byte of what is kept.
func (c *Cache) damage(t *testing.T, at int64) bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.kept == nil || at >= c.kept.size {
		return false
	}
	b := make([]byte, 1)
	if _, err := c.kept.file.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x55
	if _, err := c.kept.file.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	return true
}

// A disk that does not give back what was written: no byte of it leads to another
// snapshot.
func TestCacheOnABadDisk(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a", "b/c.yaml": "c", "b/d.yaml": strings.Repeat("d\n", 9)})
	g := &Repository{URL: r.URL(), Ref: Ref{Branch: "main"}, Cache: newCache(t)}
	known := ""
	for at := int64(0); ; at += 7 {
		revision, snapshot, err := g.Latest(t.Context(), known)
		if err != nil {
			t.Fatalf("byte %d: %v", at-7, err)
		}
		wantSame(t, r, g.Ref, "", revision, snapshot)
		known = revision
		g.Cache.reset()
		if !g.Cache.damage(t, at) {
			break
		}
		r.Commit(map[string]string{"a.yaml": fmt.Sprint(at)})
		if at > 400 {
			at += 60
		}
	}
}

func TestCachesAreBounded(t *testing.T) {
	var repos []*sources.Repo
	for range 3 {
		r := sources.NewRepo(t)
		r.Commit(map[string]string{"a.yaml": sources.Noise(10_000)})
		repos = append(repos, r)
	}
	for name, c := range map[string]struct {
		bytes int64
		files int
		want  int
	}{
		"all":   {1 << 20, 3, 3},
		"files": {1 << 20, 2, 2},
		"bytes": {15_000, 3, 1},
		"none":  {5_000, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			before := leaks.Now(t)
			caches := NewCaches()
			caches.maxBytes, caches.maxFiles = c.bytes, c.files
			for round := range 2 {
				for i, r := range repos {
					r.Commit(map[string]string{"b.yaml": fmt.Sprint(name, round)})
					g := &Repository{URL: r.URL(), Cache: caches.Of(fmt.Sprint(i), "1")}
					fetch(t, g, head(t, g))
				}
				if caches.files != c.want || caches.bytes > c.bytes {
					t.Errorf("%d files of %d bytes are kept, want %d files", caches.files, caches.bytes, c.want)
				}
			}
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
				t.Errorf("files with names are left: %v, %v", left, err)
			}
			caches.Close()
			if caches.files != 0 || caches.bytes != 0 {
				t.Errorf("%d files of %d bytes are left", caches.files, caches.bytes)
			}
			before.Check(t, leakTime)
		})
	}
}

// What belongs to another version of a source, or to one that is gone, is not used by
// anyone, also where a call of it is still under way.
func TestCachesForget(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a"})
	t.Setenv("TMPDIR", t.TempDir())
	before := leaks.Now(t)
	caches := NewCaches()
	g := &Repository{URL: r.URL(), Cache: caches.Of("s", "1")}
	fetch(t, g, head(t, g))
	if same := caches.Of("s", "1"); same != g.Cache || caches.files != 1 {
		t.Fatalf("the same version is another cache, or %d files are kept", caches.files)
	}
	if other := caches.Of("s", "2"); other == g.Cache || other.kept != nil || caches.files != 0 {
		t.Fatalf("another version has what was there, or %d files are kept", caches.files)
	}
	fetch(t, g, head(t, g)) // of version 1, and too late
	caches.Drop("s")
	caches.Drop("never was")
	g.Cache = caches.Of("s", "3")
	caches.Close()
	fetch(t, g, head(t, g))
	g.Cache = caches.Of("s", "4")
	fetch(t, g, head(t, g))
	if caches.files != 0 || caches.bytes != 0 {
		t.Errorf("%d files of %d bytes are left", caches.files, caches.bytes)
	}
	before.Check(t, leakTime)
}

// So many additions, and then the whole anew: what is kept does not grow for good.
func TestCacheIsRenewed(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "0"})
	g := &Repository{URL: r.URL(), Ref: Ref{Branch: "main"}, Cache: newCache(t)}
	known, renewed := "", 0
	most := 0
	for i := range maxAdditions + 5 {
		revision, snapshot, err := g.Latest(t.Context(), known)
		if err != nil || snapshot == nil {
			t.Fatal(err)
		}
		known = revision
		packs := len(g.Cache.kept.indexes)
		if most = max(most, packs); packs == 1 && i > 0 {
			renewed++
		}
		r.Git("commit", "--quiet", "--allow-empty", "--message=c")
	}
	if most != maxAdditions+1 || renewed != 1 {
		t.Errorf("%d packs at the most, renewed %d times", most, renewed)
	}
}

// Several calls at once share a cache, and each reads the whole of what it asks for.
func TestCacheConcurrently(t *testing.T) {
	r := sources.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a", "b/c.yaml": "c"})
	g := &Repository{URL: serveHTTP(t, r, false, nil).repoURL(), Cache: newCache(t)}
	for round := range 3 {
		r.Commit(map[string]string{"a.yaml": fmt.Sprint(round)})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, snapshot, err := g.Latest(t.Context(), ""); err != nil {
					t.Error(err)
				} else if got := sources.Contents(t, snapshot.Files)["a.yaml"]; got != fmt.Sprint(round) {
					t.Errorf("read %q in round %d", got, round)
				}
			})
		}
		wg.Wait()
	}
	if files := g.Cache.of.files; files != 1 {
		t.Errorf("%d files are kept", files)
	}
}
