package main

import (
	"net/url"
	"path"
	"path/filepath"
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
		ID                   ruleID    `json:"id"`
		ShortDescription     sarifText `json:"shortDescription"`
		FullDescription      sarifText `json:"fullDescription"`
		Help                 sarifText `json:"help"`
		DefaultConfiguration struct {
			Level severity `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    ruleID          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     severity        `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		// PartialFingerprints are told under a name of ours: the one that GitHub
		// knows is a hash of the lines, which its upload works out.
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
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

// sarifReport is a log of one run. What to do about a finding stands in the
// second line of its message, as the help of a rule is the same for all of its
// findings.
func sarifReport(v *validationReport, version string) sarifLog {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "nodepools", Version: version, InformationURI: "https://github.com/nodepools/nodepools"}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	for _, r := range rules {
		described := sarifRule{ID: r.id, ShortDescription: sarifText{r.title}, FullDescription: sarifText{r.says}}
		described.Help = sarifText{"'nodepools validate --help' tells of the rules; a finding says in its second line what to do about it"}
		described.DefaultConfiguration.Level = r.severity
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, described)
	}
	for i, digest := range fingerprints(v.Problems) {
		f := v.Problems[i]
		index, _ := ruleAt(f.Rule)
		place := sarifPlace{ArtifactLocation: artifactAt(f.File)}
		if f.Line > 0 {
			place.Region = &sarifRegion{f.Line, f.Column}
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: index, Level: f.Severity, Message: sarifText{f.text()},
			Locations:           []sarifLocation{{place}},
			PartialFingerprints: map[string]string{"nodepools/v1": digest},
		})
	}
	return sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	}
}

// artifactAt is a file within the repository, or an absolute one.
func artifactAt(name string) sarifArtifact {
	if path.IsAbs(name) || filepath.IsAbs(filepath.FromSlash(name)) {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: path.Join("/", name)}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: name}).String(), URIBaseID: "%SRCROOT%"}
}
