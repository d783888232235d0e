package git

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/nodepools/nodepools/testdata/sources"
)

func TestSections(t *testing.T) {
	shallow := pkt("shallow-info\n") + pkt("shallow "+aCommit+"\n") + "0001"
	known := pkt("acknowledgments\n") + pkt("ACK "+aCommit+"\n") + pkt("ready\n") + "0001"
	pack := pkt("packfile\n")
	for name, c := range map[string]struct {
		reason, text string
		good         bool
	}{
		"pack alone":        {"the history comes along", pack, true},
		"shallow":           {"where history is cut off", shallow + pack, true},
		"known":             {"what it has of what was offered", known + shallow + pack, true},
		"no longer shallow": {"it says that too", pkt("shallow-info\n") + pkt("unshallow "+aCommit+"\n") + "0001" + pack, true},
		"twice":             {"each section comes once", shallow + shallow + pack, false},
		"other order":       {"and in order", shallow + known + pack, false},
		"wanted refs":       {"not asked for", pkt("wanted-refs\n") + pkt(aCommit+" refs/heads/main\n") + "0001" + pack, false},
		"elsewhere":         {"not asked for, and it leads to other servers", pkt("packfile-uris\n") + pkt(aCommit+" https://example.com\n") + "0001" + pack, false},
		"no pack":           {"an end instead", shallow + "0000", false},
		"nothing":           {"an end at once", "0000", false},
		"silence":           {"not even that", "", false},
		"delimiter first":   {"of nothing", "0001" + pack, false},
		"no shallow line":   {"something else among them", pkt("shallow-info\n") + pkt("hello\n") + "0001" + pack, false},
		"without end":       {"as many lines as it likes", pkt("shallow-info\n") + strings.Repeat(pkt("shallow "+aCommit+"\n"), maxNegotiation) + "0001" + pack, false},
	} {
		t.Run(name, func(t *testing.T) {
			rest := strings.NewReader(c.text + "PACK")
			err := skipSections(rest)
			left, _ := io.ReadAll(rest)
			if (err == nil) != c.good || c.good && string(left) != "PACK" {
				t.Errorf("%s: %v, and %q is left", c.reason, err, left)
			}
		})
	}
}

func TestNegotiation(t *testing.T) {
	for name, c := range map[string]struct {
		reason, text string
		shallow      bool
		good         bool
	}{
		"nothing known":      {"of what was offered", pkt("NAK\n"), false, true},
		"shallow":            {"before it", pkt("shallow "+aCommit+"\n") + "0000" + pkt("NAK\n"), true, true},
		"multi_ack_detailed": {"two lines for a commit", pkt("ACK "+aCommit+" common\n") + pkt("ACK "+aCommit+"\n"), false, true},
		"ready":              {"and one more", pkt("ACK "+aCommit+" common\n") + pkt("ACK "+aCommit+" ready\n") + pkt("ACK "+aCommit+"\n"), false, true},
		"multi_ack":          {"the older words", pkt("ACK "+aCommit+" continue\n") + pkt("ACK "+aCommit+"\n"), false, true},
		"single":             {"one line", pkt("ACK " + aCommit + "\n"), false, true},
		"no end of shallow":  {"it is not over", pkt("shallow "+aCommit+"\n") + pkt("NAK\n"), true, false},
		"other":              {"not a word of it", pkt("HELLO\n") + pkt("NAK\n"), false, false},
		"without end":        {"as many lines as it likes", strings.Repeat(pkt("ACK "+aCommit+" common\n"), maxNegotiation) + pkt("NAK\n"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			rest := strings.NewReader(c.text + "PACK")
			err := skipNegotiation(rest, c.shallow)
			left, _ := io.ReadAll(rest)
			if (err == nil) != c.good || c.good && string(left) != "PACK" {
				t.Errorf("%s: %v, and %q is left", c.reason, err, left)
			}
		})
	}
}

// FuzzFetchAnswer reads what a server may answer to a fetch, with an earlier revision at
// hand and without: no panic, whatever it is; and nothing that is not what its hash says,
// be it new or from before.
func FuzzFetchAnswer(f *testing.F) {
	r := sources.NewRepo(f)
	first := r.Commit(map[string]string{"a.yaml": strings.Repeat("a\n", 90), "b.yaml": "b"})
	whole := []byte(r.Feed(first+"\n", "pack-objects", "--revs", "--stdout", "-q"))
	second := r.Commit(map[string]string{"a.yaml": strings.Repeat("a\n", 89)})
	thin := []byte(r.Feed(second+"\n^"+first+"\n", "pack-objects", "--revs", "--thin", "--stdout", "-q"))
	f.Add(inSections(thin))
	f.Add(append([]byte(pkt("shallow-info\n")+pkt("shallow "+second+"\n")+"0001"), inSections(thin)...))
	f.Add(inSections(whole))
	f.Add(inSections(orphan(f)))
	f.Add([]byte(pkt("packfile\n") + pkt("\x02busy\n") + pkt("\x03no\n")))
	f.Add([]byte("0000"))
	t := &target{Repository: &Repository{}, limits: defaultLimits()}
	f.Fuzz(func(test *testing.T, answer []byte) {
		p, err := newPack(test.Context(), t)
		if err != nil {
			test.Fatal(err)
		}
		if err := p.receive(bytes.NewReader(whole)); err != nil {
			test.Fatal(err)
		}
		kept, err := p.keep(plumbing.NewHash(first))
		if err != nil {
			test.Fatal(err)
		}
		defer kept.discard()
		before := len(p.objects)
		onto, err := t.reopen(test.Context(), kept)
		if err != nil {
			test.Fatal(err)
		}
		if len(onto.objects) != before {
			test.Fatalf("%d objects are kept of %d", len(onto.objects), before)
		}
		_ = receiveV2(bytes.NewReader(answer), onto)
		onto.isWhatItsHashesSay(test)
	})
}
