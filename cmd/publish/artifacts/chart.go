package artifacts

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// chart adds the Helm chart of the source as helm package would write it, but for what
// is not the same of the same commit. Its version is that of the release, and what it
// runs by default is the image of the release.
func (r Release) chart(_ context.Context, files folder) error {
	root := os.DirFS(filepath.Join(r.Source.Dir, "charts", "nodepools"))
	name, digest, _ := strings.Cut(r.Image, "@")
	colon := strings.LastIndex(name, ":")
	repository, tag := name[:colon], name[colon+1:]
	version := strings.TrimPrefix(r.Source.Version, "v") // as Helm demands it
	replacements := map[string][][2]string{
		"Chart.yaml": {
			{"\nversion: 0.0.0-devel\n", "\nversion: " + version + "\n"},
			{"\nappVersion: devel\n", "\nappVersion: " + r.Source.Version + "\n"},
		},
		"values.yaml": {
			{"\n  repository: ghcr.io/nodepools/nodepools\n", "\n  repository: " + repository + "\n"},
			{"\n  tag: \"\"\n", "\n  tag: " + tag + "\n"},
			{"\n  digest: \"\"\n", "\n  digest: " + digest + "\n"},
		},
	}
	var members []member
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, replacement := range replacements[name] {
			if strings.Count(string(data), replacement[0]) != 1 {
				return fmt.Errorf("charts/nodepools/%s does not have the line %q once", name, strings.TrimSpace(replacement[0]))
			}
			data = []byte(strings.Replace(string(data), replacement[0], replacement[1], 1))
		}
		members = append(members, member{path.Join("nodepools", name), 0o644, data})
		return nil
	})
	if err != nil {
		return err
	}
	files["nodepools-"+version+".tgz"], err = tarball(members, r.Source.Date)
	return err
}
