package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// fingerprints returns that of each finding, by which a server recognizes it when
// lines have been put in above it, or taken out: it is of all but the line, and of
// several that are the same otherwise, of which of them it is.
func fingerprints(findings []Finding) []string {
	seen := map[string]int{}
	prints := make([]string, len(findings))
	for i, f := range findings {
		about := fmt.Sprintf("%q %q %q %q", f.Rule, f.File, f.Pool, f.Message)
		seen[about]++
		hash := sha256.Sum256(fmt.Appendf(nil, "%s %d", about, seen[about]))
		prints[i] = hex.EncodeToString(hash[:16])
	}
	return prints
}
