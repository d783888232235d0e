package page

const (
	// mostSeen is how much of a list a reader sees without unfolding the rest.
	mostSeen = 10
	// mostListed is how much of it is there at all.
	mostListed = 300
)

// folded is a list that is long.
type folded[T any] struct {
	// First are seen, and More can be unfolded.
	First, More []T
	// Left is how many further ones are left out.
	Left int
}

func fold[T any](all []T) folded[T] {
	listed := all[:min(len(all), mostListed)]
	seen := min(len(listed), mostSeen)
	return folded[T]{listed[:seen], listed[seen:], len(all) - len(listed)}
}

// Len is how many there are.
func (f folded[T]) Len() int { return len(f.First) + len(f.More) + f.Left }
