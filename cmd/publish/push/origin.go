package push

import (
	"fmt"
	"io"
	"strings"
)

// Annotations of an image: https://github.com/opencontainers/image-spec/blob/main/annotations.md.
const (
	versionKey  = "org.opencontainers.image.version"
	revisionKey = "org.opencontainers.image.revision"
)

// writeOrigin writes what an image was built from: the one in the folder may be older
// than what is checked out.
func (c content) writeOrigin(log io.Writer) error {
	root, err := c.path.ImageIndex()
	if err != nil {
		return err
	}
	index, err := root.ImageIndex(c.digest)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	version, commit := manifest.Annotations[versionKey], manifest.Annotations[revisionKey]
	switch {
	case version == "":
		fmt.Fprintln(log, "pushing an image that does not name its version")
	case commit == "":
		fmt.Fprintf(log, "pushing version %q, of a commit that is not known\n", version)
	default:
		fmt.Fprintf(log, "pushing version %q, of the commit %q\n", version, commit)
	}
	if strings.HasSuffix(version, "-dirty") || strings.HasSuffix(commit, "-dirty") {
		fmt.Fprintln(log, "warning: it was built from a working tree that differs from its commit, and cannot be built again")
	}
	return nil
}
