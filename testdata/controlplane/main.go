// Command controlplane brings the programs of a real Kubernetes control plane
// (kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, etcd) and
// kwok, once, and prints the folder which holds them:
//
//	go run -C testdata/controlplane .
//	go run -C testdata/controlplane . -kubernetes v1.33.13
//
// The version of Kubernetes is that of go.mod, unless -kubernetes or
// NODEPOOLS_KUBERNETES names one of the earlier ones, which -list prints. kubectl,
// etcd and kwok are those of go.mod with every version.
//
// Programs that are published with a checksum, in just these versions, are
// downloaded, and the others are built from Go modules. With -build, all are
// built. See [provide] and, for earlier versions, [writeModule].
//
// With -installed nothing is brought, and with -download nothing is built: where
// something lacks, no folder is printed, and standard error says what.
//
// The folder is in the user's cache and named after the versions in it. When
// all programs are present, there are no requests and no output on standard
// error.
//
// When KUBEBUILDER_ASSETS names a folder, the programs in it are used; those
// which such folders usually lack come from the cache. See [assets].
//
// It is a module of its own so that the product's module stays small, and it
// imports next to nothing so that it starts at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	var w wanted
	flag.StringVar(&w.kubernetes, "kubernetes", "", "the `version` of Kubernetes, as -list prints it")
	flag.BoolVar(&w.build, "build", false, "build all, and download nothing")
	flag.BoolVar(&w.download, "download", false, "download, and build nothing")
	flag.BoolVar(&w.installed, "installed", false, "bring nothing")
	list := flag.Bool("list", false, "print the versions of Kubernetes, the newest first")
	flag.Parse()
	answer := w.provide
	if *list {
		answer = func(context.Context) (string, error) {
			known, err := versions()
			return strings.Join(known, "\n"), err
		}
	}
	text, err := answer(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; what was finished is kept, run it again for the rest")
		}
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
	if text != "" {
		fmt.Println(text)
	}
}
