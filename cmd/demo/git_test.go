package main

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
)

// A push is not limited by what git sends in one piece.
func TestGitServerTakesALargePush(t *testing.T) {
	dir := t.TempDir()
	root, work, clone := filepath.Join(dir, "git"), filepath.Join(dir, "work"), filepath.Join(dir, "clone")
	pools := filepath.Join(dir, "pools")
	for _, folder := range []string{root, work, pools} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(pools, "a.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
	server, err := serveGit(t.Context(), root, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.close(); err != nil {
			t.Error(err)
		}
	})
	sh := &shell{dir: work, env: env}
	if err := makeRepository(t.Context(), sh, root, server.url, pools); err != nil {
		t.Fatal(err)
	}

	large := make([]byte, 20<<20)
	_, _ = rand.Read(large) // it never fails; nothing makes it smaller
	if err := os.WriteFile(filepath.Join(work, "logo.png"), large, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sh.quietly(t.Context(), "git add . && git commit -q -m 'A large file' && git push -q"); err != nil {
		t.Fatal(err)
	}
	if err := sh.quietly(t.Context(), "git clone -q "+quoted(server.url+"/platform.git")+" "+quoted(clone)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(clone, "logo.png")); err != nil || !bytes.Equal(got, large) {
		t.Errorf("what was pushed is not what is there (%v)", err)
	}
}
