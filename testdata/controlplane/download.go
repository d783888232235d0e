package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// site has every program of every version of Kubernetes, for Linux, each beside
// its checksum. It is a variable for the test.
var site = "https://dl.k8s.io/release"

// download puts the programs of Kubernetes into dir. The first failure ends it.
func download(dir, scratch string, todo []program) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 4 * time.Second}).DialContext
	transport.ResponseHeaderTimeout = 10 * time.Second
	client := &http.Client{Transport: transport, Timeout: 5 * time.Minute}
	for _, p := range todo {
		if p.kubernetes == "" {
			continue
		}
		say("downloading %s %s", p.name, p.kubernetes)
		address := fmt.Sprintf("%s/%s/bin/linux/%s/%s", site, p.kubernetes, runtime.GOARCH, p.name)
		var sum strings.Builder
		if err := get(client, address+".sha256", &sum, 1<<10); err != nil {
			return err
		}
		path, hash := filepath.Join(scratch, p.name), sha256.New()
		file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		err = get(client, address, io.MultiWriter(file, hash), 1<<30)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != strings.TrimSpace(sum.String()) {
			return fmt.Errorf("%s: its checksum is %s, and %.64q was published", address, got, sum.String())
		}
		if err := os.Rename(path, filepath.Join(dir, p.name)); err != nil {
			return err
		}
	}
	return nil
}

// get writes the file at an address, of at most limit bytes.
func get(client *http.Client, address string, to io.Writer, limit int64) error {
	response, err := client.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	_, err = io.Copy(to, io.LimitReader(response.Body, limit))
	return err
}
