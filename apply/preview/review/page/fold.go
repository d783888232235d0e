package page

const (
	// mostSeen is how many items of a list are shown without unfolding the rest.
	mostSeen = 10
	// mostListed is how many items of it are on the page at all.
	mostListed = 300
)

// folded is a list whose end is folded.
type folded[T any] struct {
	// First are shown, and More can be unfolded.
	First, More []T
	// Left is how many further ones are omitted.
	Left int
}

func fold[T any](all []T) folded[T] {
	listed := all[:min(len(all), mostListed)]
	seen := min(len(listed), mostSeen)
	return folded[T]{listed[:seen], listed[seen:], len(all) - len(listed)}
}

// Len is how many there are.
func (f folded[T]) Len() int { return len(f.First) + len(f.More) + f.Left }
