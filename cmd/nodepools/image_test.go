package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// instructions are those of the Dockerfile, one a line.
func instructions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

// Podman and others look for a short name in several registries, or ask which.
func TestImagesOfTheDockerfileHaveFullNames(t *testing.T) {
	full := regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+/[a-z0-9._/-]+:[A-Za-z0-9._-]+$`)
	images := 0
	for _, line := range instructions(t) {
		name, image, found := strings.Cut(line, "_IMAGE=")
		if found && strings.HasPrefix(name, "ARG ") {
			images++
			if !full.MatchString(image) {
				t.Errorf("%s has no full name", line)
			}
		}
		if strings.HasPrefix(line, "FROM ") && !strings.Contains(line, "_IMAGE}") {
			t.Errorf("%s does not let itself be mirrored", line)
		}
	}
	if images != 2 {
		t.Errorf("%d images, want 2", images)
	}
}

func TestDockerfileKeepsTheCachesOfGo(t *testing.T) {
	runs := 0
	for _, line := range instructions(t) {
		if !strings.HasPrefix(line, "RUN ") {
			continue
		}
		runs++
		want := []string{"--mount=type=cache,target=/go/pkg/mod "}
		if strings.Contains(line, "go build") {
			want = append(want, "--mount=type=cache,target=/root/.cache/go-build ")
		}
		for _, mount := range want {
			if !strings.Contains(line, mount) {
				t.Errorf("%s\nhas no %s", line, mount)
			}
		}
	}
	if runs != 2 {
		t.Errorf("%d commands, want 2", runs)
	}
}

func TestLabelsOfTheImage(t *testing.T) {
	_, last, found := strings.Cut(strings.Join(instructions(t), "\n"), "\nFROM ${BASE_IMAGE}\n")
	if !found {
		t.Fatal("the Dockerfile has no last stage")
	}
	for _, want := range []string{
		`title="nodepools"`, "description=", "source=", `licenses="Apache-2.0"`,
		`version="${VERSION}"`, `revision="${COMMIT}"`, `base.name="${BASE_IMAGE}"`,
	} {
		if !strings.Contains(last, " org.opencontainers.image."+want) {
			t.Errorf("no label org.opencontainers.image.%s", want)
		}
	}
	// An argument that a stage does not declare is empty in it.
	for _, argument := range []string{"VERSION", "COMMIT", "BASE_IMAGE"} {
		if !regexp.MustCompile(`(?m)^ARG ` + argument + `(=|$)`).MatchString(last) {
			t.Errorf("the last stage does not declare %s", argument)
		}
	}
}

// What the image is built with makes version know the commit, and make image
// tells it.
func TestVersionInTheImageKnowsItsCommit(t *testing.T) {
	var flags string
	for _, line := range instructions(t) {
		if match := regexp.MustCompile(`-ldflags "(.*?)"`).FindStringSubmatch(line); match != nil {
			flags = match[1]
		}
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	flags = strings.NewReplacer("${VERSION}", "v1.2.3", "${COMMIT}", commit).Replace(flags)
	program := filepath.Join(t.TempDir(), "nodepools")
	if output, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", flags, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	output, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(output), "nodepools v1.2.3\ncommit    "+commit+"\n") {
		t.Errorf("version prints %v\n%s", err, output)
	}

	cmd := exec.Command("make", "-C", filepath.Join("..", ".."), "--dry-run", "image", "COMMIT="+commit)
	cmd.Env = append(cmd.Environ(), "MAKEFLAGS=", "MAKEOVERRIDES=")
	output, err = cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), " --build-arg COMMIT="+commit+" ") {
		t.Errorf("make image runs %v\n%s", err, output)
	}
}
