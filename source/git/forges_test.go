package git

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

// forge is what a kind of server does otherwise than git http-backend, as far as that is
// published: https://github.com/go-git/go-git/issues/64 and what Microsoft says of
// TF401041 for Azure DevOps, https://github.com/isomorphic-git/isomorphic-git/issues/199
// for CodeCommit, and each one's documentation of partial clones for the others.
type forge struct {
	reason string
	// v0 has the server speak version 0.
	v0 bool
	// capabilities are those of version 0 that stay; nil for all.
	capabilities []string
	// without are the features of fetch that go, in version 2.
	without []string
	// filter has it serve partial clones.
	filter bool
	// multiACK refuses a request for a pack that does not take a multi_ack.
	multiACK bool
	// noGit says that git itself cannot fetch a commit alone from there.
	noGit bool
	// preamble sends the line of version 0 before version 2, too.
	preamble bool
}

var forges = map[string]forge{
	"git":            {reason: "what git serves as it is installed"},
	"GitHub":         {reason: "version 2, and partial clones", filter: true},
	"GitLab":         {reason: "the same, behind a server of its own that sends the line of version 0", filter: true, preamble: true},
	"Gitea":          {reason: "runs git, with partial clones switched on", filter: true},
	"Bitbucket":      {reason: "version 2, and no partial clones: large files come along", without: []string{"wait-for-done"}},
	"Azure DevOps":   {reason: "no version 2, no request without multi_ack, no symref", v0: true, multiACK: true, capabilities: []string{"multi_ack", "multi_ack_detailed", "thin-pack", "side-band", "side-band-64k", "no-progress", "ofs-delta", "shallow"}},
	"multi_ack":      {reason: "the older form of it alone", v0: true, noGit: true, multiACK: true, capabilities: []string{"multi_ack", "thin-pack", "side-band-64k", "ofs-delta", "shallow"}},
	"CodeCommit":     {reason: "no version 2, no ofs-delta, no symref", v0: true, capabilities: []string{"multi_ack_detailed", "shallow", "side-band-64k", "thin-pack", "allow-tip-sha1-in-want", "allow-reachable-sha1-in-want"}},
	"old git":        {reason: "no version 2, and all else", v0: true},
	"no multi_ack":   {reason: "each answer is the last one", v0: true, capabilities: []string{"side-band-64k", "thin-pack", "ofs-delta", "shallow"}},
	"v0, no shallow": {reason: "the history comes along", v0: true, noGit: true, capabilities: []string{"multi_ack_detailed", "side-band-64k", "thin-pack", "ofs-delta"}},
	"no capability":  {reason: "all are optional", v0: true, noGit: true, capabilities: []string{}},
	"v2, no shallow": {reason: "the history comes along", noGit: true, without: []string{"shallow"}},
}

// forgeServer serves a repository as a forge does, and counts what it sends.
type forgeServer struct {
	*webServer
	sent int
}

func (f forge) serve(t testing.TB, r *sources.Repo) *forgeServer {
	t.Helper()
	s := &forgeServer{}
	s.webServer = serveHTTP(t, r, false, func(next http.Handler) http.Handler {
		if f.v0 {
			next = old(next)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Error(err)
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			if f.multiACK && req.Method == http.MethodPost && !bytes.Contains(body, []byte("multi_ack")) {
				http.Error(w, "TF401041: The Git protocol sent is not as expected (Clients must support multi-ack.).", http.StatusBadRequest)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, req)
			text := answer.Body.Bytes()
			if req.Method == http.MethodGet {
				text = f.advertise(t, text)
			}
			w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
			w.WriteHeader(answer.Code)
			s.sent += len(text)
			_, _ = w.Write(text)
		})
	})
	return s
}

// advertise edits what git says of itself.
func (f forge) advertise(t testing.TB, text []byte) []byte {
	lines, out := pktline.NewScanner(bytes.NewReader(text)), &bytes.Buffer{}
	write := func(line string) {
		if line == "" {
			out.WriteString("0000")
			return
		}
		fmt.Fprintf(out, "%04x%s", len(line)+4, line)
	}
	if f.preamble {
		write("# service=git-upload-pack\n")
		write("")
	}
	for lines.Scan() {
		line := string(lines.Bytes())
		if first, all, found := strings.Cut(line, "\x00"); found && f.capabilities != nil {
			kept := slices.DeleteFunc(strings.Fields(all), func(word string) bool { return !slices.Contains(f.capabilities, word) })
			line = first + "\x00" + strings.Join(kept, " ") + "\n"
		}
		if features, found := strings.CutPrefix(line, "fetch="); found {
			kept := slices.DeleteFunc(strings.Fields(features), func(word string) bool {
				return slices.Contains(f.without, word) || word == "filter" && !f.filter
			})
			line = "fetch=" + strings.Join(kept, " ") + "\n"
		}
		write(line)
	}
	if lines.Err() != nil {
		t.Error(lines.Err())
	}
	return out.Bytes()
}

// story is a repository that moves, step by step.
type story struct {
	r           *sources.Repo
	first, last string
}

const filesOfStory = 100

func newStory(t testing.TB) *story {
	s := &story{r: sources.NewRepo(t)}
	s.r.Git("config", "uploadpack.allowFilter", "true")
	files := map[string]string{"big.bin": sources.Noise(20_000)}
	for i := range filesOfStory {
		files[fmt.Sprintf("pools/%d/%d.yaml", i/20, i)] = strings.Repeat(fmt.Sprintf("kind: NodePool # %d\n", i), 30)
	}
	s.first = s.r.Commit(files)
	s.r.Git("tag", "--annotate", "--message=m", "v1.0.0")
	return s
}

// steps are what happens to the repository, and what its branch is asked for then.
var steps = []struct {
	name   string
	do     func(s *story)
	branch bool // there is one
}{
	{"one file changes", func(s *story) {
		s.last = s.r.Commit(map[string]string{"pools/0/1.yaml": "kind: NodePool # changed\n"})
	}, true},
	{"one more", func(s *story) {
		s.last = s.r.Commit(map[string]string{"pools/0/1.yaml": "kind: NodePool # changed again\n", "pools/0/2.yaml": ""})
	}, true},
	{"the branch goes back", func(s *story) { s.r.Git("reset", "--quiet", "--hard", s.first) }, true},
	{"and forward", func(s *story) { s.r.Git("reset", "--quiet", "--hard", s.last) }, true},
	{"history is rewritten", func(s *story) { s.r.Git("commit", "--quiet", "--amend", "--message=other") }, true},
	{"another history", func(s *story) {
		s.r.Git("checkout", "--quiet", "--orphan", "other")
		s.r.Commit(map[string]string{"pools/0/1.yaml": "kind: NodePool # of another history\n"})
		s.r.Git("branch", "--quiet", "--force", "main", "other")
	}, true},
	{"the branch is deleted", func(s *story) { s.r.Git("branch", "--quiet", "-D", "main") }, false},
	{"and comes back", func(s *story) { s.r.Git("branch", "--quiet", "main", s.last) }, true},
}

// latest is a poll of a repository that somebody follows, and what it takes.
func (s *forgeServer) latest(t testing.TB, g *Repository, known string) (revision string, snapshot *source.Snapshot, requests, sent int, err error) {
	t.Helper()
	requests, sent = len(s.requests()), s.sent
	revision, snapshot, err = g.Latest(t.Context(), known)
	return revision, snapshot, len(s.requests()) - requests, s.sent - sent, err
}

// wantSame checks a snapshot against one that is fetched whole, by a client that remembers
// nothing, from the repository itself.
func wantSame(t testing.TB, r *sources.Repo, ref Ref, path, revision string, snapshot *source.Snapshot) {
	t.Helper()
	_, want, err := (&Repository{URL: r.URL(), Ref: ref, Path: path}).Latest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, want, revision, snapshot)
}

func wantEqual(t testing.TB, want *source.Snapshot, revision string, got *source.Snapshot) {
	t.Helper()
	if got == nil || revision != want.Revision || got.Revision != want.Revision || got.TreeHash != want.TreeHash {
		t.Fatalf("revision %s, %+v, want %s and the tree %s", revision, got, want.Revision, want.TreeHash)
	}
	if diff := cmp.Diff(sources.Contents(t, want.Files), sources.Contents(t, got.Files)); diff != "" {
		t.Fatalf("files (-fetched whole +got):\n%s", diff)
	}
}

// follower follows a branch on one kind of server.
type follower struct {
	forge
	server     *forgeServer
	repository *Repository
	known      string
	whole      int        // what the first fetch took, in bytes
	byGit      func() int // what a fetch of git takes, onto the one before; 0 where it cannot
}

func (f forge) follow(t testing.TB, story *story) *follower {
	t.Helper()
	s := f.serve(t, story.r)
	g := &follower{forge: f, server: s, byGit: func() int { return 0 }}
	g.repository = &Repository{URL: s.repoURL(), Ref: Ref{Branch: "main"}, Path: "pools", Cache: newCache(t)}
	known, snapshot, requests, whole, err := s.latest(t, g.repository, "")
	if err != nil {
		t.Fatalf("%s: %v", f.reason, err)
	}
	wantSame(t, story.r, g.repository.Ref, g.repository.Path, known, snapshot)
	if want := map[bool]int{false: 3, true: 2}[f.v0]; requests != want {
		t.Errorf("the first fetch is %d requests, want %d: %v", requests, want, s.requests())
	}
	g.known, g.whole = known, whole
	if !f.noGit {
		g.byGit = gitFetching(t, s)
		g.byGit()
	}
	return g
}

// TestForges follows a branch on servers of each kind through all that may happen to it.
// What is read is always what a fetch of the whole gives, in so many requests, and what
// changes by a file costs at most twice the bytes that it costs git.
func TestForges(t *testing.T) {
	story := newStory(t)
	followers := map[string]*follower{}
	for name, f := range forges {
		followers[name] = f.follow(t, story)
	}
	for i, step := range steps {
		step.do(story)
		var want *source.Snapshot
		if step.branch {
			var err error
			if _, want, err = (&Repository{URL: story.r.URL(), Ref: Ref{Branch: "main"}, Path: "pools"}).Latest(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		}
		for name, f := range followers {
			t.Run(step.name+"/"+name, func(t *testing.T) {
				if want == nil {
					f.misses(t)
					return
				}
				sent := f.reads(t, want)
				if i > 2 {
					return // git has taken part so far
				}
				if by := f.byGit(); !f.noGit && sent > 2*by {
					t.Errorf("%d bytes, and git takes %d", sent, by)
				}
				if i == 0 && sent > f.whole/4 {
					t.Errorf("%d bytes, and the whole was %d", sent, f.whole)
				}
			})
		}
	}
}

// misses polls a branch that is not there.
func (f *follower) misses(t *testing.T) {
	_, _, requests, _, err := f.server.latest(t, f.repository, f.known)
	sources.WantError(t, err, source.ErrRefMissing)
	if want := map[bool]int{false: 2, true: 1}[f.v0]; requests != want {
		t.Errorf("%d requests, want %d", requests, want)
	}
}

// reads polls a branch that has changed, and then once more. It returns how many bytes the
// server has sent of the change.
func (f *follower) reads(t *testing.T, want *source.Snapshot) int {
	revision, snapshot, requests, sent, err := f.server.latest(t, f.repository, f.known)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, want, revision, snapshot)
	if requests != 2 {
		t.Errorf("%d requests, want one for the refs and one for the objects", requests)
	}
	f.known = revision
	again, snapshot, requests, polled, err := f.server.latest(t, f.repository, f.known)
	if err != nil || again != f.known || snapshot != nil || requests != 1 || polled > 2048 {
		t.Errorf("unchanged: %s, %v, %v, %d requests and %d bytes", again, snapshot, err, requests, polled)
	}
	return sent
}

// gitFetching returns what git takes to fetch main once more onto what it has, in bytes.
func gitFetching(t testing.TB, s *forgeServer) func() int {
	clone := sources.NewRepo(t, "--bare")
	return func() int {
		before := s.sent
		clone.Git("fetch", "--quiet", "--depth=1", "--no-tags", s.repoURL(), "+refs/heads/main:refs/heads/main")
		return s.sent - before
	}
}

// A tag that moves, annotated and not, on each kind of server.
func TestForgesMovedTag(t *testing.T) {
	for name, f := range forges {
		t.Run(name, func(t *testing.T) {
			story := newStory(t)
			s := f.serve(t, story.r)
			for _, ref := range []Ref{{Tag: "v1.0.0"}, {Semver: "^1"}} {
				if ref.Semver != "" && name != "git" && name != "old git" {
					continue // they differ in the refs that are asked for alone
				}
				g := &Repository{URL: s.repoURL(), Ref: ref, Path: "pools", Cache: newCache(t)}
				known := ""
				for i, move := range [][]string{
					{"tag", "--force", "--annotate", "--message=m", "v1.0.0", story.first},
					{"tag", "--force", "v1.0.0", "HEAD"},
					{"tag", "--force", "v1.0.0", story.first},
				} {
					story.last = story.r.Commit(map[string]string{"pools/0/1.yaml": fmt.Sprint(i)})
					story.r.Git(move...)
					revision, snapshot, _, _, err := s.latest(t, g, known)
					if err != nil {
						t.Fatalf("%v: %v", move, err)
					}
					wantSame(t, story.r, ref, "pools", revision, snapshot)
					known = revision
				}
			}
		})
	}
}
