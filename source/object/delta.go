package object

import (
	"errors"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// MaxBytes bounds a folder listing, a commit, and every object that has to be in
	// memory to undo delta compression.
	MaxBytes = 16 << 20
	// MaxDeltaChain is the longest chain of deltas that Git itself writes.
	MaxDeltaChain = 4095
	// DeltaCacheBytes is what undoing delta compression may keep at hand.
	DeltaCacheBytes = 32 << 20
)

// ErrTooLarge is the error of an object that is larger than [MaxBytes].
var ErrTooLarge = errors.New("object larger than the limit")

// Patch applies a delta to its base.
//
// Errors: ErrTooLarge, before anything is written.
func Patch(base, delta []byte) ([]byte, error) {
	if !fits(delta) {
		return nil, ErrTooLarge
	}
	return packfile.PatchDelta(base, delta)
}

// fits reads the two sizes that a delta begins with, and reports whether its
// result may be in memory.
func fits(delta []byte) bool {
	rest := delta
	var size uint64
	for range 2 {
		size = 0
		for shift := 0; ; shift += 7 {
			if len(rest) == 0 || shift > 56 {
				return len(rest) == 0 // broken: let the patch say so
			}
			size |= uint64(rest[0]&0x7f) << shift
			more := rest[0]&0x80 != 0
			if rest = rest[1:]; !more {
				break
			}
		}
	}
	return size <= MaxBytes
}
