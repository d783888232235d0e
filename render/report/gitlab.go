package report

import (
	"io"

	"github.com/nodepools/nodepools/render"
)

// codeQuality is an entry of a code quality report, the part of the format of Code
// Climate that GitLab reads.
type codeQuality struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	// Fingerprint is of this entry alone. GitLab finds by it what a merge request
	// adds, and what it mends.
	Fingerprint string              `json:"fingerprint"`
	Severity    string              `json:"severity"`
	Location    codeQualityLocation `json:"location"`
}

type codeQualityLocation struct {
	Path  string `json:"path"`
	Lines struct {
		Begin int `json:"begin"`
	} `json:"lines"`
}

// WriteGitLab writes a code quality report, as GitLab reads it from the artifacts of
// a job: a list, empty where nothing is found.
func WriteGitLab(w io.Writer, r *Report) error {
	report := make([]codeQuality, len(r.Problems))
	for i, digest := range fingerprints(r.Problems) {
		f := r.Problems[i]
		entry := codeQuality{Description: f.text(), CheckName: string(f.Rule), Fingerprint: digest, Severity: "critical"}
		if f.Severity == Warning {
			entry.Severity = "minor"
		}
		entry.Location.Path = f.File
		entry.Location.Lines.Begin = max(f.Line, 1) // GitLab wants one
		report[i] = entry
	}
	return render.WriteJSON(w, report)
}
