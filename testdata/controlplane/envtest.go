package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// fromEnvtest downloads the bundle and takes the components out of it.
func (d *downloader) fromEnvtest(ctx context.Context, dir, scratch string, wanted []component) error {
	if len(wanted) == 0 {
		return nil
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	address, sum, err := d.bundle(ctx)
	if err != nil {
		return fmt.Errorf("envtest: %w", err)
	}
	archive := filepath.Join(scratch, "bundle.tar.gz")
	start := time.Now()
	if err := d.file(ctx, address, archive, sha512.New(), sum); err != nil {
		return fmt.Errorf("envtest: %w", err)
	}
	if err := unpack(archive, scratch, wanted); err != nil {
		return fmt.Errorf("envtest: %s: %w", address, err)
	}
	var failed []error
	var placed []component
	for _, c := range wanted {
		if err := place(ctx, dir, scratch, c, fmt.Sprintf("%s sha512:%s", address, sum)); err != nil {
			failed = append(failed, fmt.Errorf("envtest: %w", err))
			continue
		}
		placed = append(placed, c)
	}
	if len(placed) > 0 {
		say("%s: downloaded in %s", names(placed), since(start))
	}
	return errors.Join(failed...)
}

// bundle returns the address and the checksum of the bundle of our version.
func (d *downloader) bundle(ctx context.Context) (address, sum string, err error) {
	var text bytes.Buffer
	if err := d.client.get(ctx, d.index, largestIndex, &text, noProgress); err != nil {
		return "", "", err
	}
	var index struct {
		Releases map[string]map[string]struct {
			Hash     string `json:"hash"`
			SelfLink string `json:"selfLink"`
		} `json:"releases"`
	}
	if err := yaml.Unmarshal(text.Bytes(), &index); err != nil {
		return "", "", fmt.Errorf("%s is not an index: %w", d.index, err)
	}
	bundle, found := index.Releases[d.kubernetes][fmt.Sprintf("envtest-%s-%s-%s.tar.gz", d.kubernetes, d.goos, d.goarch)]
	if !found {
		return "", "", fmt.Errorf("the index has no %s for %s on %s", d.kubernetes, d.goos, d.goarch)
	}
	base, err := url.Parse(d.index)
	if err != nil {
		return "", "", err
	}
	link, err := base.Parse(bundle.SelfLink)
	if err != nil {
		return "", "", fmt.Errorf("the index has no address for %s: %w", d.kubernetes, err)
	}
	return link.String(), strings.ToLower(bundle.Hash), nil
}

// unpack writes the wanted programs of a bundle, and nothing else of it, into dir.
func unpack(archive, dir string, wanted []component) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	uncompressed, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for files := tar.NewReader(uncompressed); ; {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Base(header.Name)
		if header.Typeflag != tar.TypeReg || !slices.ContainsFunc(wanted, func(c component) bool { return c.name == name }) {
			continue
		}
		if err := write(filepath.Join(dir, name), func(to io.Writer) error {
			size, err := io.Copy(to, io.LimitReader(files, largestProgram+1))
			if size > largestProgram {
				return fmt.Errorf("%s is larger than %d MiB", name, largestProgram>>20)
			}
			return err
		}); err != nil {
			return err
		}
	}
}
