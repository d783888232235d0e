package local

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	gogit "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/nodepools/nodepools/testdata/sources"
)

// BenchmarkMergeBase finds where a branch of a hundred commits has left a history of
// 20,000 a hundred commits ago, which is a pull request, by our own code and by that of
// go-git. It shows what the comment of mergeBases says of both.
func BenchmarkMergeBase(b *testing.B) {
	const length, since = 20_000, 100
	r := sources.NewRepo(b)
	var history strings.Builder
	commit := func(branch string, mark, from int) {
		fmt.Fprintf(&history, "commit refs/heads/%s\nmark :%d\ncommitter a <a@example.com> %d +0000\ndata 0\n", branch, mark, 1600000000+60*mark)
		if from > 0 {
			fmt.Fprintf(&history, "from :%d\n", from)
		}
	}
	for i := range length {
		commit("main", i+1, i)
	}
	for i, from := 0, length-since; i < since; i++ {
		commit("side", length+1+i, from)
		from = length + 1 + i
	}
	r.Feed(history.String(), "fast-import", "--quiet", "--force")
	r.Git("repack", "-adq")
	main, side := r.Git("rev-parse", "main"), r.Git("rev-parse", "side")
	main, side = strings.TrimSpace(main), strings.TrimSpace(side)
	want := "sha1:" + strings.TrimSpace(r.Git("merge-base", "main", "side"))
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l, err := Open(r.Dir)
			if err != nil {
				b.Fatal(err)
			}
			if got, err := l.MergeBase(b.Context(), "sha1:"+main, "sha1:"+side); err != nil || got != want {
				b.Fatalf("%s, %v, want %s", got, err, want)
			}
		}
	})
	b.Run("go-git", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			storage := filesystem.NewStorage(osfs.New(r.Dir+"/.git"), cache.NewObjectLRUDefault())
			one, err := gogit.GetCommit(storage, plumbing.NewHash(main))
			if err != nil {
				b.Fatal(err)
			}
			other, err := gogit.GetCommit(storage, plumbing.NewHash(side))
			if err != nil {
				b.Fatal(err)
			}
			found, err := one.MergeBase(other)
			if err != nil || len(found) != 1 || "sha1:"+found[0].Hash.String() != want {
				b.Fatalf("%v, %v, want %s", found, err, want)
			}
		}
	})
}
