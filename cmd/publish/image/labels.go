package image

import (
	"maps"
	"time"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// The keys are those of https://github.com/opencontainers/image-spec/blob/main/annotations.md.
const (
	keyPrefix  = "org.opencontainers.image."
	keyCreated = keyPrefix + "created"
	keyVersion = keyPrefix + "version"
	keyTitle   = keyPrefix + "title"
	keyRefName = keyPrefix + "ref.name"
)

// labels are those of the configuration of an image. The Dockerfile has the same.
func labels(s program.Source) map[string]string {
	return map[string]string{
		keyTitle:                    "nodepools",
		keyPrefix + "description":   "GitOps for Kubernetes node pools",
		keyPrefix + "source":        "https://github.com/nodepools/nodepools",
		keyPrefix + "documentation": "https://github.com/nodepools/nodepools#readme",
		keyPrefix + "licenses":      "Apache-2.0",
		keyVersion:                  s.Version,
		keyPrefix + "revision":      s.Commit,
	}
}

// annotations are those of a manifest, where registries look for them.
func annotations(s program.Source) map[string]string {
	all := maps.Clone(labels(s))
	all[keyCreated] = s.Date.Format(time.RFC3339)
	return all
}
