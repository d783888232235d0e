package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fromGitHub downloads a component that is a file of a release on GitHub, which
// publishes the checksum of each.
func (d *downloader) fromGitHub(ctx context.Context, dir, scratch string, wanted []component) error {
	if len(wanted) == 0 {
		return nil
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	for _, c := range wanted {
		start := time.Now()
		address, sum, err := d.asset(ctx, c)
		if err == nil {
			err = d.file(ctx, address, filepath.Join(scratch, c.name), sha256.New(), sum)
		}
		if err == nil {
			err = place(ctx, dir, scratch, c, address+" sha256:"+sum)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		say("%s: downloaded in %s", c.name, since(start))
	}
	return nil
}

// asset returns the address and the checksum of a component's file.
func (d *downloader) asset(ctx context.Context, c component) (address, sum string, err error) {
	list := fmt.Sprintf("%s/repos/%s/releases/tags/%s", strings.TrimRight(d.github, "/"), c.github, c.version)
	var text bytes.Buffer
	if err := d.client.get(ctx, list, largestIndex, &text, noProgress); err != nil {
		return "", "", err
	}
	var release struct {
		Assets []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
			URL    string `json:"browser_download_url"`
		} `json:"assets"`
	}
	if err := json.Unmarshal(text.Bytes(), &release); err != nil {
		return "", "", fmt.Errorf("%s is not a release: %w", list, err)
	}
	name := fmt.Sprintf("%s-%s-%s", c.name, d.goos, d.goarch)
	for _, asset := range release.Assets {
		sum, found := strings.CutPrefix(asset.Digest, "sha256:")
		if asset.Name != name || !found {
			continue
		}
		base, err := url.Parse(list)
		if err != nil {
			return "", "", err
		}
		link, err := base.Parse(asset.URL)
		if err != nil {
			return "", "", fmt.Errorf("%s has no address for %s: %w", list, name, err)
		}
		return link.String(), strings.ToLower(sum), nil
	}
	return "", "", fmt.Errorf("%s has no %s with a checksum", list, name)
}
