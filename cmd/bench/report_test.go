package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the chart and the page anew from the results of the last run")

const root = "../.."

// TestPublished holds the chart and the figures of the page to the results of the last run.
func TestPublished(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := publish(root, r); err != nil {
			t.Fatal(err)
		}
	}
	files, err := shown(root, r)
	if err != nil {
		t.Fatal(err)
	}
	if files[resultsFile], err = r.encode(); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s does not follow from %s; run this test with -update (-want +got):\n%s", name, resultsFile, diff)
		}
	}
}

// TestChartIsXML holds that the chart is XML whatever a figure is called, and that it asks
// for nothing.
func TestChartIsXML(t *testing.T) {
	const hostile = "\x00\xff<&>\"'\n]]></text><image href=\"https://far.invalid/x\"/>"
	r := Report{Program: hostile, Figures: []Figure{{Row: hostile, Name: hostile, Value: 2, Unit: hostile, Target: &Target{1}}}}
	of := xml.NewDecoder(strings.NewReader(r.chart()))
	for {
		token, err := of.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if ok && !strings.Contains(" svg title desc style rect line text ", " "+start.Name.Local+" ") {
			t.Errorf("there is an element %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			if a.Name.Local == "href" || a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("there is an attribute %s", a.Name.Local)
			}
		}
	}
}

func TestMissed(t *testing.T) {
	for reason, c := range map[string]struct {
		figure Figure
		want   bool
	}{
		"without a target a figure only informs": {Figure{Value: 9}, false},
		"at the target":                          {Figure{Value: 1, Target: &Target{1}}, false},
		"above the target":                       {Figure{Value: 1.01, Target: &Target{1}}, true},
		"the ratio counts and not the value":     {Figure{Value: 9, Baseline: &Baseline{"b", 9}, Target: &Target{1}}, false},
		"the ratio is above":                     {Figure{Value: 0.9, Baseline: &Baseline{"b", 0.5}, Target: &Target{1}}, true},
		"nothing beside nothing":                 {Figure{Baseline: &Baseline{"b", 0}, Target: &Target{1}}, false},
		"something beside nothing":               {Figure{Value: 1, Baseline: &Baseline{"b", 0}, Target: &Target{1}}, true},
	} {
		if got := c.figure.missed(); got != c.want {
			t.Errorf("%s: missed is %v", reason, got)
		}
	}
}
