package push

import (
	"errors"

	"github.com/google/go-containerregistry/pkg/name"
)

// CheckRepository refuses what is not the full name of a repository. What it refuses is
// not repeated, as it could hold a password.
func CheckRepository(repository string) error {
	if _, err := name.NewRepository(repository, name.StrictValidation); err != nil {
		return errors.New("the repository is not the name of one with its registry, and without a tag\nname it in full, as in REPOSITORY=registry.example.com/nodepools")
	}
	return nil
}
