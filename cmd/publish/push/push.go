// Package push brings an OCI image layout to a registry. Start with [Image].
package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Options of a push.
type Options struct {
	// Keychain has the credentials of registries.
	Keychain authn.Keychain
	// Insecure lets a registry be asked without TLS. One on this machine always is.
	Insecure bool
	// Transport carries the requests; nil is a new one.
	Transport http.RoundTripper
	// Backoff between attempts where a registry is busy; the zero value is the default.
	Backoff remote.Backoff
	// Log is written what is pushed, before it is; nil for nothing.
	Log io.Writer
}

// Image pushes the image in a layout to a tag, and returns its name with tag and digest.
//
// The tag is set last: whoever pulls it gets the image of every platform, with its bill
// of materials, or what was there before.
func Image(ctx context.Context, dir, reference string, o Options) (string, error) {
	tag, err := parse(reference, o.Insecure)
	if err != nil {
		return "", err
	}
	content, err := open(dir)
	if err != nil {
		return "", err
	}
	if o.Log != nil {
		if err := content.writeOrigin(o.Log); err != nil {
			return "", fmt.Errorf("cannot read the image in %s: %w\nrun make image again", dir, err)
		}
	}
	secrets := &secrets{keychain: o.Keychain}
	options := []remote.Option{
		remote.WithContext(ctx),
		remote.WithTransport(&encrypted{next: transportOf(o.Transport), insecure: o.Insecure}),
		remote.WithAuthFromKeychain(secrets),
		remote.WithUserAgent("nodepools-publish"),
	}
	if o.Backoff != (remote.Backoff{}) {
		options = append(options, remote.WithRetryBackoff(o.Backoff))
	}
	if err := content.push(tag, options); err != nil {
		return "", secrets.explain(ctx, err, tag, dir)
	}
	return tag.Name() + "@" + content.digest.String(), nil
}

// parse takes the full name of a tag. What it refuses is not repeated where it could
// hold a password.
func parse(reference string, insecure bool) (name.Tag, error) {
	const hint = "\nname it in full, as in IMAGE=registry.example.com/nodepools:v1"
	switch {
	case reference == "":
		return name.Tag{}, errors.New("no image is named" + hint)
	case strings.Contains(reference, "://"):
		return name.Tag{}, errors.New("the name of an image has no scheme such as https://" + hint)
	case strings.Contains(reference, "@"):
		return name.Tag{}, errors.New("an image is pushed to a tag: its name has no digest, no user and no @" + hint)
	}
	options := []name.Option{name.StrictValidation}
	if insecure {
		options = append(options, name.Insecure)
	}
	tag, err := name.NewTag(reference, options...)
	if err != nil {
		return name.Tag{}, fmt.Errorf("%q is not the name of an image with its registry and its tag%s", reference, hint)
	}
	return tag, nil
}

// content of a layout.
type content struct {
	path      layout.Path
	digest    v1.Hash // of the index
	artifacts []v1.Hash
}

func open(dir string) (content, error) {
	path, err := layout.FromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, fmt.Errorf("there is no image in %s\nrun make image before", dir)
	}
	if err != nil {
		return content{}, fmt.Errorf("cannot read the image in %s: %w\nrun make image again", dir, err)
	}
	c := content{path: path}
	index, err := path.ImageIndex()
	if err != nil {
		return c, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return c, fmt.Errorf("cannot read the image in %s: %w\nrun make image again", dir, err)
	}
	indexes := 0
	for _, descriptor := range manifest.Manifests {
		if descriptor.MediaType.IsIndex() {
			c.digest = descriptor.Digest
			indexes++
			continue
		}
		c.artifacts = append(c.artifacts, descriptor.Digest)
	}
	if indexes != 1 {
		return c, fmt.Errorf("%s holds %d images, and not one\nrun make image again", dir, indexes)
	}
	return c, nil
}

func (c content) push(tag name.Tag, options []remote.Option) error {
	root, err := c.path.ImageIndex()
	if err != nil {
		return err
	}
	index, err := root.ImageIndex(c.digest)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(tag.Context().Digest(c.digest.String()), index, options...); err != nil {
		return err
	}
	for _, digest := range c.artifacts {
		artifact, err := root.Image(digest)
		if err != nil {
			return err
		}
		if err := remote.Write(tag.Context().Digest(digest.String()), artifact, options...); err != nil {
			return err
		}
	}
	return remote.Tag(tag, index, options...)
}

// Timeout bounds a push: a registry that stops in the middle of an answer would else
// hold it for ever.
const Timeout = 30 * time.Minute
