package redact

import (
	"regexp"
	"sync"
)

// compiled returns the regular expression of a pattern, which is compiled when it is first
// used: the controller masks nothing, and would keep half a MiB of them.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
