package folder

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/render"
)

// Union is what several clusters read of one folder, each in layers of its own.
type Union struct {
	pools    *Pools
	where    string
	problems render.Problems
}

// Add adds what [Load] or [LoadRevision] returns. An error that is not about the content
// of the files is returned.
func (u *Union) Add(pools *Pools, err error) error {
	invalid := (*render.InvalidError)(nil)
	switch {
	case errors.As(err, &invalid):
		u.where, u.problems = invalid.Where, append(u.problems, invalid.Problems...)
		return nil
	case err != nil:
		return err
	case u.pools == nil:
		u.pools = pools
		return nil
	}
	for _, definition := range pools.Definitions {
		same := func(other render.Definition) bool {
			return other.Pool.Name == definition.Pool.Name && other.File == definition.File && other.Line == definition.Line
		}
		i := slices.IndexFunc(u.pools.Definitions, same)
		if i < 0 {
			u.pools.Definitions = append(u.pools.Definitions, definition)
			continue
		}
		// What a layer changes may be warned of in one cluster alone.
		known := &u.pools.Definitions[i]
		for _, warning := range definition.Warnings {
			if !slices.Contains(known.Warnings, warning) {
				known.Warnings = append(slices.Clip(known.Warnings), warning)
			}
		}
	}
	return nil
}

// Pools returns the pools of all, each once, or the problems of all.
func (u *Union) Pools() (*Pools, error) {
	if len(u.problems) == 0 {
		return u.pools, nil
	}
	slices.SortStableFunc(u.problems, func(a, b render.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	return nil, slices.Compact(u.problems).In(u.where)
}
