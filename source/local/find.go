package local

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/object"
)

// repositoryFolders are where a repository on this machine lies.
type repositoryFolders struct {
	root   string // of the working tree; empty for a bare repository
	git    string // HEAD and the index
	common string // objects, refs and config
}

// discover looks for the repository that a folder is in, as git does: in the
// folder, wherever links lead to it, and then in those around it. A bare repository that has a working tree around
// it is refused: it may be what somebody has committed there, and would answer in place of
// the repository that a source follows.
func discover(dir string) (repositoryFolders, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return repositoryFolders{}, source.NewError(source.ErrUnreadable, dir, "cannot be found")
	}
	bare := ""
	for folder := resolved(start); ; folder = filepath.Dir(folder) {
		switch found, err := repositoryAt(folder); {
		case err != nil:
			return repositoryFolders{}, source.NewError(source.ErrUnreadable, dir, "the repository that it is in cannot be read: "+reasonOf(err))
		case found != nil && bare != "" && found.has(bare):
			return repositoryFolders{git: bare, common: bare}, nil
		case found != nil && bare != "":
			return repositoryFolders{}, source.NewError(source.ErrUnsupported, bare, "is a bare repository within the working tree of "+folder+", and could be one that was committed there").
				WithHint("delete it if it is not yours; a bare repository of your own has to be outside of every working tree")
		case found != nil:
			return *found, nil
		case bare == "" && isGitFolder(folder):
			bare = folder
		}
		if folder == filepath.Dir(folder) {
			break
		}
	}
	if bare != "" {
		return repositoryFolders{git: bare, common: bare}, nil
	}
	return repositoryFolders{}, source.NewError(source.ErrRepositoryMissing, dir, "is not in a Git repository").
		WithHint("name a folder in a clone of the repository, or change to one")
}

// has reports whether a folder is one of those that a working tree is managed in, or lies in
// one: nobody commits into these.
func (f repositoryFolders) has(folder string) bool {
	for _, own := range []string{f.git, f.common} {
		within, err := filepath.Rel(resolved(own), resolved(folder))
		if err == nil && within != ".." && !strings.HasPrefix(within, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

func reasonOf(err error) string {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		return inner.Err.Error()
	}
	return err.Error()
}

// repositoryAt is nil where a folder is not the root of a working tree.
func repositoryAt(folder string) (*repositoryFolders, error) {
	git := filepath.Join(folder, ".git")
	info, err := os.Stat(git)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir(): // that of a git worktree, or of a submodule
		if git, err = pointer(git, "gitdir: "); err != nil {
			return nil, err
		}
		if !isGitFolder(git) {
			return nil, errors.New("the file .git names " + source.Quote(git) + ", which is no repository")
		}
	}
	if !isGitFolder(git) {
		return nil, nil
	}
	found := &repositoryFolders{root: folder, git: git, common: git}
	common, err := pointer(filepath.Join(git, "commondir"), "")
	if err == nil {
		found.common = common
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return found, nil
}

// isGitFolder looks for what every repository has.
func isGitFolder(folder string) bool {
	if _, err := os.Stat(filepath.Join(folder, "HEAD")); err != nil {
		return false
	}
	for _, name := range []string{"objects", "commondir"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// pointer reads a file that holds the path of a folder.
func pointer(name, prefix string) (string, error) {
	data, err := readRegular(name, maxRefBytes)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || path == "" {
		return "", errors.New("the file " + filepath.Base(name) + " names no folder")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(name), path)
	}
	return path, nil
}

func osfsAt(folder string) billy.Filesystem { return osfs.New(folder) }

// files is both folders as one, as git lays them out.
func (f repositoryFolders) files() billy.Filesystem {
	if f.common == f.git {
		return osfsAt(f.git)
	}
	return dotgit.NewRepositoryFilesystem(osfsAt(f.git), osfsAt(f.common))
}

// extensions that make no difference for who only reads commits, and those that
// are understood. A partial clone is one as long as nothing is asked for that it
// lacks.
var extensions = map[string]bool{
	"noop": true, "noop-v1": true, "partialclone": true, "preciousobjects": true,
	"worktreeconfig": true, "relativeworktrees": true,
}

// readConfig refuses what cannot be read, and finds a working tree that lies
// elsewhere.
func (r *Repository) readConfig(found repositoryFolders) error {
	cfg := config.New()
	text, err := readRegular(filepath.Join(found.common, "config"), maxConfigBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unreadableFile(err)
	}
	if err := config.NewDecoder(bytes.NewReader(text)).Decode(cfg); err != nil {
		return source.NewError(source.ErrUnreadable, "config of the repository", "cannot be read: "+err.Error())
	}
	for _, option := range cfg.Section("extensions").Options {
		name, value := strings.ToLower(option.Key), strings.ToLower(option.Value)
		switch {
		case extensions[name], name == "objectformat" && value == "sha1", name == "refstorage" && value == "files":
		case name == "objectformat":
			return object.UnsupportedSHA256("")
		default:
			return source.NewError(source.ErrUnsupported, "", "the repository has the extension "+source.Quote(option.Key)+" = "+source.Quote(option.Value)+", which is not known")
		}
	}
	if elsewhere := cfg.Section("core").Option("worktree"); elsewhere != "" && found.common == found.git {
		if !filepath.IsAbs(elsewhere) {
			elsewhere = filepath.Join(found.git, elsewhere)
		}
		r.root = filepath.Clean(elsewhere)
	}
	return nil
}
