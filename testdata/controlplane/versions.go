package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// kubernetesVariable names the version of Kubernetes, for who starts this program
// without arguments of their own: tests.
const kubernetesVariable = "NODEPOOLS_KUBERNETES"

// earlier are the versions of Kubernetes that can be brought beside that of go.mod: of
// each minor version that is supported, the newest patch release that could be built of Go
// modules when it was written down, with all that it is made of. The newest comes first; the
// last one is the oldest that is supported.
var earlier = []string{
	"v1.36.3",
	"v1.35.4",
	"v1.34.4",
	"v1.33.13",
	"v1.32.9",
	"v1.31.13",
	"v1.30.14",
}

// versions returns all that can be brought, the newest first, which is that of go.mod.
func versions() ([]string, error) {
	newest, err := required("k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	return append([]string{newest}, earlier...), nil
}

// choose returns the version to bring: the one that is asked for, else the one that the
// environment names, else that of go.mod. Any other is an error, as most are typing
// mistakes, and would be looked for in vain.
func choose(asked string) (string, error) {
	known, err := versions()
	if err != nil {
		return "", err
	}
	from := "-kubernetes"
	if asked == "" {
		asked, from = os.Getenv(kubernetesVariable), kubernetesVariable
	}
	if asked == "" {
		return known[0], nil
	}
	if !slices.Contains(known, asked) {
		return "", fmt.Errorf("%s: %q is not a version that can be brought\nname one of %s", from, asked, strings.Join(known, ", "))
	}
	return asked, nil
}
