package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// instructions are those of the Dockerfile, one a line.
func instructions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "Dockerfile"))
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

// Docker builds the image that make image builds: its files are those of publish tree,
// and its configuration is the same.
func TestDockerfileBuildsTheSameImage(t *testing.T) {
	all := instructions(t)
	start := slices.Index(all, "FROM scratch")
	if start < 0 || slices.ContainsFunc(all[start+1:], func(line string) bool { return strings.HasPrefix(line, "FROM ") }) {
		t.Fatal("the last stage of the Dockerfile is not FROM scratch")
	}
	if build := strings.Join(all[:start], "\n"); !strings.Contains(build, "/publish tree ") || !strings.Contains(build, " -output /tree") {
		t.Errorf("the files are not those of publish tree:\n%s", build)
	}
	_, images := theImage(t).images(t)
	file, err := images["linux/amd64"].ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := file.Config
	labels := map[string]string{}
	values := strings.NewReplacer("${VERSION}", testVersion, "${COMMIT}", testCommit)
	seen := map[string]int{}
	for _, line := range all[start+1:] {
		instruction, rest, _ := strings.Cut(line, " ")
		seen[instruction]++
		var got, list any
		switch instruction {
		case "ARG":
			continue
		case "LABEL":
			for _, match := range regexp.MustCompile(`([a-z.]+)="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
				labels[match[1]] = values.Replace(match[2])
			}
			continue
		case "COPY":
			got, list = rest, "--from=build /tree/ /"
		case "WORKDIR":
			got, list = rest, want.WorkingDir
		case "USER":
			got, list = rest, want.User
		case "ENTRYPOINT":
			got, list = words(t, rest), want.Entrypoint
		case "CMD":
			got, list = words(t, rest), want.Cmd
		default:
			t.Errorf("%s has no counterpart in the image", line)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("%s (-image +Dockerfile):\n%s", instruction, diff)
		}
	}
	if diff := cmp.Diff(want.Labels, labels); diff != "" {
		t.Errorf("labels (-image +Dockerfile):\n%s", diff)
	}
	if want := map[string]int{"ARG": 2, "LABEL": 1, "COPY": 1, "WORKDIR": 1, "USER": 1, "ENTRYPOINT": 1, "CMD": 1}; !maps.Equal(seen, want) {
		t.Errorf("the last stage has %v, want %v", seen, want)
	}
}

func words(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// What is built outside of a clone is told its commit, by make and by the Dockerfile,
// and an argument that a stage does not declare is empty in it.
func TestDockerfileKnowsVersionAndCommit(t *testing.T) {
	for _, stage := range strings.Split("\n"+strings.Join(instructions(t), "\n"), "\nFROM ")[1:] {
		for _, argument := range []string{"VERSION", "COMMIT"} {
			if !strings.Contains(stage, "${"+argument+"}") || !regexp.MustCompile(`(?m)^ARG `+argument+`(=|$)`).MatchString(stage) {
				t.Errorf("a stage does not declare and use %s:\nFROM %s", argument, stage)
			}
		}
	}
}

// Podman and others look for a short name in several registries, or ask which.
func TestImageOfTheDockerfileHasAFullName(t *testing.T) {
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
		if strings.HasPrefix(line, "FROM ") && !strings.Contains(line, "_IMAGE}") && line != "FROM scratch" {
			t.Errorf("%s does not let itself be mirrored", line)
		}
	}
	if images != 1 {
		t.Errorf("%d images, want 1", images)
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
