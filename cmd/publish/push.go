package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/nodepools/nodepools/cmd/publish/push"
)

// runPush pushes the image, and prints its name with its digest.
func runPush(ctx context.Context, flags *flag.FlagSet, args []string, out, log io.Writer) error {
	layout := flags.String("layout", "bin/image", "folder of the image")
	name := flags.String("image", "", "name and tag to push to")
	insecure := flags.Bool("insecure", false, "ask a registry on another machine without TLS, too")
	if err := parse(flags, args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, push.Timeout)
	defer cancel()
	pushed, err := push.Image(ctx, *layout, *name, push.Options{Keychain: authn.DefaultKeychain, Insecure: *insecure, Log: log})
	if err != nil {
		return err
	}
	fmt.Fprintln(log, "pushed; this name stays this image, whatever becomes of the tag:")
	fmt.Fprintln(out, pushed)
	return nil
}
