package git

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/nodepools/nodepools/testdata/sources"
)

// BenchmarkPack indexes packs by our own code and, beside it, by the parser of go-git,
// from a file, as it takes a stream only into memory. It shows what the comment of pack
// says of both. The packs are of 10,000 small files, and of one of 60 MiB which is in no
// folder that is followed.
func BenchmarkPack(b *testing.B) {
	small := func(r *sources.Repo) {
		var stream strings.Builder
		stream.WriteString("commit refs/heads/main\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nc\n")
		for i := range 10_000 {
			content := fmt.Sprintf("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata:\n  name: pool-%d\n", i)
			fmt.Fprintf(&stream, "M 644 inline pools/%03d/%d.yaml\ndata %d\n%s\n", i/100, i, len(content), content)
		}
		r.Feed(stream.String(), "fast-import", "--quiet")
	}
	large := func(r *sources.Repo) {
		r.Commit(map[string]string{"pools/a.yaml": "a", "model.bin": sources.Noise(60 << 20)})
	}
	for name, fill := range map[string]func(*sources.Repo){"small": small, "large": large} {
		r := sources.NewRepo(b)
		fill(r)
		r.Git("repack", "-adfq", "--depth=50")
		packs, err := filepath.Glob(filepath.Join(r.Dir, ".git", "objects", "pack", "*.pack"))
		if err != nil || len(packs) != 1 {
			b.Fatalf("packs: %v, %v", packs, err)
		}
		data, err := os.ReadFile(packs[0])
		if err != nil {
			b.Fatal(err)
		}
		limits := defaultLimits()
		b.Run(name+"/ours", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := newPack(b.Context(), &target{Repository: &Repository{TempDir: b.TempDir()}, limits: limits})
				if err != nil {
					b.Fatal(err)
				}
				if err := p.receive(bytes.NewReader(data)); err != nil {
					b.Fatal(err)
				}
				p.discard()
			}
		})
		b.Run(name+"/go-git", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				file, err := os.CreateTemp(b.TempDir(), "")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := file.Write(data); err != nil {
					b.Fatal(err)
				}
				if _, err := file.Seek(0, 0); err != nil {
					b.Fatal(err)
				}
				seen := indexed{}
				parser, err := packfile.NewParser(packfile.NewScanner(file), seen)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := parser.Parse(); err != nil {
					b.Fatal(err)
				}
				file.Close()
			}
		})
	}
}

// indexed is what our own index has of a pack.
type indexed map[plumbing.Hash]int64

func (indexed) OnHeader(uint32) error { return nil }

func (indexed) OnInflatedObjectHeader(plumbing.ObjectType, int64, int64) error { return nil }

func (i indexed) OnInflatedObjectContent(hash plumbing.Hash, offset int64, _ uint32, _ []byte) error {
	i[hash] = offset
	return nil
}

func (indexed) OnFooter(plumbing.Hash) error { return nil }
