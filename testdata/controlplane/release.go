package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// release is one version of Kubernetes on the release site.
type release struct {
	*downloader
	dir, scratch string

	sums   map[string]string // SHA-256, by name
	failed map[string]error  // why there is none, by name
	absent error             // why nothing more is asked of the site
}

// fetchChecksums fetches the checksums of components, for as long as the site answers.
func (r *release) fetchChecksums(ctx context.Context, wanted []component) {
	r.sums, r.failed = map[string]string{}, map[string]error{}
	for _, c := range wanted {
		var text bytes.Buffer
		err := r.client.get(ctx, r.address(c)+".sha256", largestChecksum, &text, noProgress)
		if errors.Is(err, errUnavailable) {
			r.absent = fmt.Errorf("release site: %w", err)
			return
		}
		// Some tools write the name of the file after its checksum.
		sum, _, _ := strings.Cut(strings.TrimSpace(text.String()), " ")
		r.sums[c.name], r.failed[c.name] = strings.ToLower(sum), err
	}
}

// bring downloads components, one after the other.
func (r *release) bring(ctx context.Context, wanted []component) error {
	if len(wanted) == 0 {
		return nil
	}
	if r.absent != nil {
		return r.absent
	}
	if err := os.MkdirAll(r.scratch, 0o755); err != nil {
		return err
	}
	var failed []error
	for _, c := range wanted {
		err := r.failed[c.name]
		if err == nil {
			err = r.bringOne(ctx, c)
		}
		if err == nil {
			continue
		}
		failed = append(failed, fmt.Errorf("release site: %w", err))
		if errors.Is(err, errUnavailable) {
			r.absent = failed[len(failed)-1]
			break
		}
	}
	return errors.Join(failed...)
}

func (r *release) bringOne(ctx context.Context, c component) error {
	start := time.Now()
	address, sum := r.address(c), r.sums[c.name]
	if err := r.file(ctx, address, filepath.Join(r.scratch, c.name), sha256.New(), sum); err != nil {
		return err
	}
	if err := place(ctx, r.dir, r.scratch, c, address+" sha256:"+sum); err != nil {
		return err
	}
	say("%s: downloaded in %s", c.name, since(start))
	return nil
}

func (r *release) address(c component) string {
	return fmt.Sprintf("%s/%s/bin/%s/%s/%s", strings.TrimRight(r.site, "/"), r.kubernetes, r.goos, r.goarch, c.name)
}
