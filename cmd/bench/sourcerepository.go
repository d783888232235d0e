package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gitRepository is a bare repository like one that people have had for years: many
// files in many folders, among them those of the pools, and a long history.
type gitRepository struct {
	dir     string
	files   int
	commits int // so far
	random  *rand.Rand
}

const (
	filesPerFolder = 100
	linesPerFile   = 40
)

// makeGitRepository makes one with so many files and commits, each of which but the
// first changes one file; packed, as a server has it.
func makeGitRepository(ctx context.Context, dir string, files, commits int) (*gitRepository, error) {
	r := &gitRepository{dir: dir, files: files, random: rand.New(rand.NewPCG(1, 2))}
	if err := runGit(ctx, "", nil, "init", "--quiet", "--bare", dir); err != nil {
		return nil, err
	}
	if err := runGit(ctx, dir, nil, "symbolic-ref", "HEAD", "refs/heads/main"); err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	go func() {
		var stream bytes.Buffer
		r.writeCommit(&stream, allOf(files), "")
		for range commits - 1 {
			r.writeCommit(&stream, []int{r.random.IntN(files)}, "")
			if stream.Len() > 1<<20 {
				if _, err := stream.WriteTo(writer); err != nil {
					return // the reader has closed it, and knows why
				}
			}
		}
		_, err := stream.WriteTo(writer)
		writer.CloseWithError(err)
	}()
	err := runGit(ctx, dir, reader, "fast-import", "--quiet", "--force")
	_ = reader.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		return nil, err
	}
	return r, runGit(ctx, dir, nil, "repack", "-a", "-d", "-q", "--write-bitmap-index")
}

// changePool commits a change of one pool.
func (r *gitRepository) changePool(ctx context.Context) error {
	var stream bytes.Buffer
	r.writeCommit(&stream, []int{r.commits % min(filesPerFolder, r.files)}, "from refs/heads/main^0\n")
	return runGit(ctx, r.dir, &stream, "fast-import", "--quiet")
}

// writeCommit writes a commit of new content for some files, for git fast-import. It
// follows the one before in the stream; the first says what it comes from, if anything.
func (r *gitRepository) writeCommit(to *bytes.Buffer, files []int, from string) {
	fmt.Fprintf(to, "commit refs/heads/main\ncommitter a <a@example.com> %d +0000\ndata 1\nc\n%s", 1_600_000_000+60*r.commits, from)
	for _, file := range files {
		content := r.content(file)
		fmt.Fprintf(to, "M 100644 inline %s\ndata %d\n%s\n", filePath(file), len(content), content)
	}
	r.commits++
}

// poolsPath is the folder that the source follows: the first filesPerFolder files.
const poolsPath = "pools"

func filePath(file int) string {
	if file < filesPerFolder {
		return fmt.Sprintf("%s/pool-%02d.yaml", poolsPath, file)
	}
	return fmt.Sprintf("apps/team-%03d/app-%02d.yaml", file/filesPerFolder, file%filesPerFolder)
}

// content is text that compresses about as YAML does.
func (r *gitRepository) content(file int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s, as of commit %d\n", filePath(file), r.commits)
	for line := range linesPerFile {
		fmt.Fprintf(&out, "    label-%02d.example.com/%08x: \"%d\"\n", line, r.random.Uint32(), r.random.IntN(1000))
	}
	return out.String()
}

// withRefs makes a repository beside r that has the same objects and as many refs
// more, as one has whose server keeps a ref for each pull request.
func (r *gitRepository) withRefs(ctx context.Context, dir string, refs int) error {
	if err := runGit(ctx, "", nil, "clone", "--quiet", "--bare", "--shared", r.dir, dir); err != nil {
		return err
	}
	list := gitCommand(ctx, dir, "rev-list", "main")
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("git rev-list: %w", err)
	}
	commits := strings.Fields(string(out))
	var commands bytes.Buffer
	for i := range refs {
		fmt.Fprintf(&commands, "create refs/pull/%d/head %s\n", i+1, commits[i%len(commits)])
	}
	if err := runGit(ctx, dir, &commands, "update-ref", "--stdin"); err != nil {
		return err
	}
	return runGit(ctx, dir, nil, "pack-refs", "--all")
}

func allOf(files int) []int {
	all := make([]int, files)
	for i := range all {
		all[i] = i
	}
	return all
}

// gitCommand is git in a folder, without the settings of whoever runs it.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, gitEnvironment()
	return cmd
}

func runGit(ctx context.Context, dir string, input io.Reader, args ...string) error {
	cmd := gitCommand(ctx, dir, args...)
	cmd.Stdin = input
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", args[0], err, said)
	}
	return nil
}

// gitEnvironment is that of this process without what is git's or a proxy's, and with
// somebody who commits.
func gitEnvironment() []string {
	var env []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "GIT_") && !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			env = append(env, variable)
		}
	}
	return append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"HOME="+filepath.Join(os.TempDir(), "nodepools-no-home"),
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
}
