package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that is not of its checksum is never put where programs are run.
func TestDownloadTakesOnlyWhatHasItsChecksum(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			fmt.Fprintf(w, "%x\n", sha256.Sum256([]byte("good")))
		} else if strings.Contains(r.URL.Path, "/v1.1.0/") {
			fmt.Fprint(w, "good")
		} else {
			fmt.Fprint(w, "evil")
		}
	}))
	defer server.Close()
	site = server.URL
	dir := t.TempDir()
	err := download(dir, t.TempDir(), []program{{name: "etcd"}, {name: "kubectl", kubernetes: "v1.1.0"}, {name: "kube-apiserver", kubernetes: "v1.2.0"}})
	if err == nil || !strings.Contains(err.Error(), "/v1.2.0/") {
		t.Errorf("got error %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "kubectl")); err != nil || string(got) != "good" {
		t.Errorf("kubectl is %q, %v", got, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
	}
}
