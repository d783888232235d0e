package main

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
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
	server, err := serveGit(t.Context(), root, dir, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.close(); err != nil {
			t.Error(err)
		}
	})
	sh := &shell{dir: work, env: env}
	if err := makeRepository(t.Context(), sh, root, server, pools); err != nil {
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
	var with string
	for _, setting := range server.settings {
		with += " -c " + quoted(setting)
	}
	if err := sh.quietly(t.Context(), "git"+with+" clone -q "+quoted(server.url+"/platform.git")+" "+quoted(clone)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(clone, "logo.png")); err != nil || !bytes.Equal(got, large) {
		t.Errorf("what was pushed is not what is there (%v)", err)
	}
}

// The repository is private: without the token it is neither read nor written, and
// without the authority nobody is asked for the token.
func TestGitServerIsPrivate(t *testing.T) {
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	server, err := serveGit(t.Context(), dir, dir, env)
	if err != nil {
		t.Fatal(err)
	}
	if server.private == nil {
		t.Skip("git comes without http-backend")
	}
	t.Cleanup(func() {
		if err := server.close(); err != nil {
			t.Error(err)
		}
	})
	sh := &shell{dir: dir, env: env}
	if err := sh.quietly(t.Context(), "git init -q --bare platform.git"); err != nil {
		t.Fatal(err)
	}
	for with, says := range map[string]string{
		"":                                  "certificate",
		" -c " + quoted(server.settings[0]): "could not read Username",
		" -c " + quoted(server.settings[0]) + " -c " + quoted(server.settings[1]): "",
	} {
		output, err := sh.run(t.Context(), "git"+with+" ls-remote "+server.url+"/platform.git")
		if (err == nil) != (says == "") || !strings.Contains(output, says) {
			t.Errorf("with%q: %v, %s", with, err, output)
		}
	}
}
