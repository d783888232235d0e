package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/memory"
)

// What a program does that uses go-git as it comes: what its Remote.List and its
// shallow Clone into memory are made of, without its configuration files.

func openGoGit(url string) (transport.UploadPackSession, error) {
	endpoint, err := transport.NewEndpoint(url)
	if err != nil {
		return nil, fmt.Errorf("go-git: %w", err)
	}
	session, err := githttp.DefaultClient.NewUploadPackSession(endpoint, nil)
	if err != nil {
		return nil, fmt.Errorf("go-git: %w", err)
	}
	return session, nil
}

// goGitList asks for the refs, and finds that of the branch main.
func goGitList(ctx context.Context, url string) (_ plumbing.Hash, err error) {
	session, err := openGoGit(url)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	return goGitMain(ctx, session)
}

func goGitMain(ctx context.Context, session transport.UploadPackSession) (plumbing.Hash, error) {
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("go-git: %w", err)
	}
	refs, err := advertised.AllReferences()
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("go-git: %w", err)
	}
	main, err := refs.Reference(plumbing.NewBranchReferenceName("main"))
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("go-git: %w", err)
	}
	return main.Hash(), nil
}

// goGitClone brings the tip of main without its history into memory.
func goGitClone(ctx context.Context, url string) (err error) {
	session, err := openGoGit(url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	tip, err := goGitMain(ctx, session)
	if err != nil {
		return err
	}
	request := packp.NewUploadPackRequest()
	request.Wants = []plumbing.Hash{tip}
	request.Depth = packp.DepthCommits(1)
	if err := errors.Join(request.Capabilities.Set(capability.Shallow), request.Capabilities.Set(capability.OFSDelta)); err != nil {
		return fmt.Errorf("go-git: %w", err)
	}
	answer, err := session.UploadPack(ctx, request)
	if err != nil {
		return fmt.Errorf("go-git: %w", err)
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	store := memory.NewStorage()
	if err := packfile.UpdateObjectStorage(store, answer); err != nil {
		return fmt.Errorf("go-git: %w", err)
	}
	if _, err := store.EncodedObject(plumbing.CommitObject, tip); err != nil {
		return fmt.Errorf("go-git: the commit %s: %w", tip, err)
	}
	return nil
}
