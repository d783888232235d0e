package report

import (
	"io"
	"net/url"
	"path"
	"path/filepath"

	"github.com/nodepools/nodepools/render"
)

// What of SARIF 2.1.0 is written: https://docs.oasis-open.org/sarif/sarif/v2.1.0/.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool sarifTool `json:"tool"`
		// ColumnKind is that of [render.Problem].
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   RuleID    `json:"id"`
		ShortDescription     sarifText `json:"shortDescription"`
		FullDescription      sarifText `json:"fullDescription"`
		Help                 sarifText `json:"help"`
		DefaultConfiguration struct {
			Level Severity `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    RuleID          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Severity        `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		// PartialFingerprints are given under a name of ours: the one that GitHub
		// knows is a hash of the lines, which its upload works out.
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysicalLocation `json:"physicalLocation"`
	}
	sarifPhysicalLocation struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// WriteSARIF writes a log of one run of a version of nodepools. What to do about a
// finding stands in the second line of its message, as the help of a rule is the same
// for all of its findings.
func WriteSARIF(w io.Writer, r *Report, version string) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "nodepools", Version: version, InformationURI: "https://github.com/nodepools/nodepools"}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	for _, rule := range rules {
		described := sarifRule{ID: rule.ID, ShortDescription: sarifText{rule.Title}, FullDescription: sarifText{rule.Description}}
		described.Help = sarifText{"'nodepools validate --help' describes the rules; the second line of a finding says what to do about it"}
		described.DefaultConfiguration.Level = rule.Severity
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, described)
	}
	for i, digest := range fingerprints(r.Problems) {
		f := r.Problems[i]
		index, _ := ruleAt(f.Rule)
		location := sarifPhysicalLocation{ArtifactLocation: artifactAt(f.File)}
		if f.Line > 0 {
			location.Region = &sarifRegion{f.Line, f.Column}
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: index, Level: f.Severity, Message: sarifText{f.text()},
			Locations:           []sarifLocation{{location}},
			PartialFingerprints: map[string]string{"nodepools/v1": digest},
		})
	}
	return render.WriteJSON(w, sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// artifactAt is a file within the repository, or an absolute one.
func artifactAt(name string) sarifArtifact {
	if path.IsAbs(name) || filepath.IsAbs(filepath.FromSlash(name)) {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: path.Join("/", name)}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: name}).String(), URIBaseID: "%SRCROOT%"}
}
