package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

// history is a bare repository with many files in many folders and a long history.
type history struct {
	dir     string
	files   int
	commits int // so far
	random  *rand.Rand
}

const (
	historyName    = "fleet.git"
	poolsPath      = "pools" // the folder that a source follows: the first filesPerFolder files
	filesPerFolder = 100
	linesPerFile   = 40
)

// makeHistory makes one below a folder, packed as a server has it. Each commit but the first
// changes one file.
func makeHistory(ctx context.Context, dir string, files, commits int) (*history, error) {
	h := &history{dir: filepath.Join(dir, historyName), files: files, random: rand.New(rand.NewPCG(1, 2))}
	var stream strings.Builder
	all := make([]int, files)
	for i := range all {
		all[i] = i
	}
	h.writeCommit(&stream, "", all...)
	for range commits - 1 {
		h.writeCommit(&stream, "", h.random.IntN(files))
	}
	if err := gits(ctx, "", []string{"init", "--quiet", "--bare", "--initial-branch", "main", h.dir}); err != nil {
		return nil, err
	}
	if _, err := runGit(ctx, h.dir, strings.NewReader(stream.String()), "fast-import", "--quiet", "--force"); err != nil {
		return nil, err
	}
	return h, gits(ctx, h.dir, []string{"repack", "-a", "-d", "-q", "--write-bitmap-index"})
}

// changePool commits a change of one pool.
func (h *history) changePool(ctx context.Context) error {
	var stream strings.Builder
	h.writeCommit(&stream, "from refs/heads/main^0\n", h.commits%min(filesPerFolder, h.files))
	_, err := runGit(ctx, h.dir, strings.NewReader(stream.String()), "fast-import", "--quiet")
	return err
}

// writeCommit writes a commit of new content for some files, for git fast-import. It follows
// the commit before in the stream; the first names its parent, if any.
func (h *history) writeCommit(to io.Writer, from string, files ...int) {
	fmt.Fprintf(to, "commit refs/heads/main\ncommitter a <a@example.com> %d +0000\ndata 1\nc\n%s", 1_600_000_000+60*h.commits, from)
	for _, file := range files {
		path := fmt.Sprintf("apps/team-%03d/app-%02d.yaml", file/filesPerFolder, file%filesPerFolder)
		if file < filesPerFolder {
			path = fmt.Sprintf("%s/pool-%02d.yaml", poolsPath, file)
		}
		var content strings.Builder // compresses about as YAML does
		fmt.Fprintf(&content, "# %s, as of commit %d\n", path, h.commits)
		for line := range linesPerFile {
			fmt.Fprintf(&content, "    label-%02d.example.com/%08x: \"%d\"\n", line, h.random.Uint32(), h.random.IntN(1000))
		}
		fmt.Fprintf(to, "M 100644 inline %s\ndata %d\n%s\n", path, content.Len(), content.String())
	}
	h.commits++
}

// addRefs adds refs of pull requests.
func (h *history) addRefs(ctx context.Context, refs int) error {
	commits, err := runGit(ctx, h.dir, nil, "rev-list", "main")
	if err != nil {
		return err
	}
	all := strings.Fields(commits)
	var commands strings.Builder
	for i := range refs {
		fmt.Fprintf(&commands, "create refs/pull/%d/head %s\n", i+1, all[i%len(all)])
	}
	if _, err := runGit(ctx, h.dir, strings.NewReader(commands.String()), "update-ref", "--stdin"); err != nil {
		return err
	}
	return gits(ctx, h.dir, []string{"pack-refs", "--all"})
}
