package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// untilPools waits until there is a pool for each file, and each of them Ready
// for what its spec says now.
func (s *stage) untilPools(ctx context.Context, start time.Time) (time.Duration, error) {
	files, err := filepath.Glob(filepath.Join(s.sh.dir, "pools", "*.yaml"))
	if err != nil {
		return 0, err
	}
	count := len(files)
	return until(ctx, start, fmt.Sprintf("%d Ready pools", count), func(ctx context.Context) error {
		var list v1.NodePoolList
		if err := s.read(ctx, &list, "nodepools"); err != nil {
			return err
		}
		if len(list.Items) != count {
			return fmt.Errorf("there are %d pools, and the source says: %w", len(list.Items), s.source(ctx))
		}
		for _, pool := range list.Items {
			if !carriedOut(&pool) {
				return fmt.Errorf("pool %s is not Ready: %+v", pool.Name, pool.Status)
			}
		}
		return nil
	})
}

// source is what the source has to say, as an error.
func (s *stage) source(ctx context.Context) error {
	var source v1.NodePoolSource
	if err := s.read(ctx, &source, "nodepoolsources/platform"); err != nil {
		return err
	}
	for _, condition := range source.Status.Conditions {
		if condition.Type == v1.ReadyCondition {
			return errors.New(condition.Message)
		}
	}
	return errors.New("nothing yet")
}

// read gets what is at a path of our API.
func (s *stage) read(ctx context.Context, into any, path string) error {
	raw, err := s.client.Discovery().RESTClient().Get().AbsPath("/apis", v1.GroupVersion.String(), path).DoRaw(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func carriedOut(pool *v1.NodePool) bool {
	if pool.Status.ObservedGeneration != pool.Generation || pool.Status.Nodes.Desired == 0 {
		return false
	}
	for _, condition := range pool.Status.Conditions {
		if condition.Type == v1.ReadyCondition {
			return condition.Status == "True"
		}
	}
	return false
}
