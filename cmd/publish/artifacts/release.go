// Package artifacts writes the files of a release: an archive of the program for each
// platform, its bill of materials, the manifests that install the controller, the
// manifest of the kubectl plugin, the Helm chart, and the checksums of all. Start with
// [Release.Write].
package artifacts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// versions of releases, as krew and Go take them, and as nodepools itself knows one.
var releaseVersion = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(alpha|beta|rc)\.(0|[1-9]\d*))?$`)

// Check refuses to release what could not be built again from what is published.
func Check(ctx context.Context, s program.Source) error {
	if !releaseVersion.MatchString(s.Version) {
		return fmt.Errorf("%q is not the version of a release\nname one as in VERSION=v1.2.3 or VERSION=v1.2.3-rc.1", s.Version)
	}
	if s.Commit == "" {
		return fmt.Errorf("the commit is not known: %s has to name the one that it is built from\nrelease from a clone, or name the commit with COMMIT", s.Version)
	}
	if s.Dirty() {
		return fmt.Errorf("the working tree differs from its commit: %s could not be built again from what is published\ncommit or remove what git status shows", s.Version)
	}
	elsewhere, err := s.TagElsewhere(ctx)
	if err != nil {
		return err
	}
	if elsewhere != "" {
		return fmt.Errorf("%s is the tag of another commit, %.12s\ncheck that out, or choose another version", s.Version, elsewhere)
	}
	return nil
}

// Program is what is released for one platform.
type Program struct {
	Platform   program.Platform
	Executable []byte
	// BOM is its bill of materials.
	BOM []byte
}

// Release is what the files of a release are made of.
type Release struct {
	Source   program.Source
	Programs []Program
	// Image is what the manifests run: its name, with a digest.
	Image string
	// Printer is the file of the program for this machine, which prints the manifests.
	Printer string
}

// Write replaces a folder with the files of the release.
func (r Release) Write(ctx context.Context, dir string) error {
	files := folder{}
	for _, add := range []func(context.Context, folder) error{r.programs, r.manifests, r.chart} {
		if err := add(ctx, files); err != nil {
			return err
		}
	}
	return files.write(dir)
}

// programs adds an archive and a bill of materials for each platform, and the manifest
// of the kubectl plugin, which names the archives.
func (r Release) programs(_ context.Context, files folder) error {
	license, err := os.ReadFile(filepath.Join(r.Source.Dir, "LICENSE"))
	if err != nil {
		return err
	}
	var plugins []plugin
	for _, p := range r.Programs {
		name, content, err := archive(r.Source, p, license)
		if err != nil {
			return err
		}
		files[name] = content
		files[base(r.Source, p.Platform)+".cdx.json"] = p.BOM
		plugins = append(plugins, plugin{p.Platform, name, digest(content), p.Platform.Executable("nodepools")})
	}
	files["krew-nodepools.yaml"], err = krewManifest(r.Source.Version, plugins)
	return err
}

// manifests adds what the program itself prints.
func (r Release) manifests(ctx context.Context, files folder) error {
	for name, args := range map[string][]string{
		"install.yaml": {"install", "--image", r.Image},
		"crds.yaml":    {"install", "--crds-only"},
	} {
		cmd := exec.CommandContext(ctx, r.Printer, args...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		output, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("nodepools %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
		}
		files[name] = output
	}
	return nil
}

func base(s program.Source, p program.Platform) string {
	return fmt.Sprintf("nodepools_%s_%s_%s", s.Version, p.OS, p.Arch)
}

func archive(s program.Source, p Program, license []byte) (name string, content []byte, err error) {
	members := []member{
		{"LICENSE", 0o644, license},
		{p.Platform.Executable("nodepools"), 0o755, p.Executable},
	}
	if p.Platform.OS == "windows" {
		content, err = zipped(members, s.Date)
		return base(s, p.Platform) + ".zip", content, err
	}
	content, err = tarball(members, s.Date)
	return base(s, p.Platform) + ".tar.gz", content, err
}
