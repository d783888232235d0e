package bom

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

var source = program.Source{Version: "v1.2.3+build", Date: time.Unix(1767323045, 0).UTC()}

// The test is a program, too.
func executable(t *testing.T) []byte {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestOf(t *testing.T) {
	content := executable(t)
	first, err := Of(source, content, Module{"example.com/data", "v1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Of(source, slices.Clone(content), Module{"example.com/data", "v1.0.0"})
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same program has two bills (%v)", err)
	}
	var bill struct {
		BOMFormat, SpecVersion, SerialNumber string
		Metadata                             struct {
			Timestamp string
			Component struct{ Type, Version, PURL string }
		}
		Components   []struct{ Type, Name, Version, PURL string }
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(first, &bill); err != nil {
		t.Fatal(err)
	}
	if bill.BOMFormat != "CycloneDX" || bill.SpecVersion != "1.6" || bill.Metadata.Timestamp != "2026-01-02T03:04:05Z" {
		t.Errorf("it is a bill of %s %s of %s", bill.BOMFormat, bill.SpecVersion, bill.Metadata.Timestamp)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(bill.SerialNumber) {
		t.Errorf("its number is %s", bill.SerialNumber)
	}
	product := bill.Metadata.Component
	if product.Type != "application" || product.Version != "v1.2.3+build" || !strings.HasSuffix(product.PURL, "@v1.2.3%2Bbuild") {
		t.Errorf("it is about %+v", product)
	}
	found := map[string]bool{}
	for _, part := range bill.Components {
		found[part.Type+" "+part.PURL] = true
	}
	for _, want := range []string{"library pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go"), "data pkg:golang/example.com/data@v1.0.0"} {
		if !found[want] {
			t.Errorf("it does not list %s", want)
		}
	}
	if len(bill.Dependencies) != len(bill.Components)+1 || len(bill.Dependencies[0].DependsOn) != len(bill.Components) {
		t.Errorf("%d dependencies of %d parts", len(bill.Dependencies), len(bill.Components))
	}
}

func TestOfWhatIsNoProgram(t *testing.T) {
	if _, err := Of(source, []byte("no program")); err == nil || !strings.Contains(err.Error(), "cannot read what the program is made of") {
		t.Error(err)
	}
}
