// Package bom writes the bill of materials of a program: the modules that the Go
// command has recorded in it, as CycloneDX. Start with [Of].
package bom

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

// Module is a module that something comes from.
type Module struct{ Path, Version string }

// Of returns the bill of materials of a program. With what it is shipped, and is not in
// its own record, is named beside it.
//
// The same program gives the same bytes.
func Of(s program.Source, executable []byte, beside ...Module) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(executable))
	if err != nil {
		return nil, fmt.Errorf("cannot read what the program is made of: %w", err)
	}
	product := component(cdx.ComponentTypeApplication, info.Main.Path, s.Version, "")
	product.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum(executable)}}
	product.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	product.Properties = settings(info)

	parts := []cdx.Component{component(cdx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		parts = append(parts, component(cdx.ComponentTypeLibrary, module.Path, module.Version, module.Sum))
	}
	for _, module := range beside {
		parts = append(parts, component(cdx.ComponentTypeData, module.Path, module.Version, ""))
	}
	slices.SortFunc(parts, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })

	document := cdx.NewBOM()
	document.SerialNumber = serial(executable)
	document.Metadata = &cdx.Metadata{Timestamp: s.Date.Format(time.RFC3339), Component: &product}
	document.Components = &parts
	document.Dependencies = dependencies(product, parts)
	var buffer bytes.Buffer
	err = cdx.NewBOMEncoder(&buffer, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(document, cdx.SpecVersion1_6)
	return buffer.Bytes(), err
}

func component(kind cdx.ComponentType, path, version, goSum string) cdx.Component {
	// https://github.com/package-url/purl-spec: a plus is data there.
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := cdx.Component{Type: kind, BOMRef: purl, Name: path, Version: version, PackageURL: purl}
	// What go.sum holds is the SHA-256 of a list of files, so that it is not given out
	// as the hash of one.
	if encoded, found := strings.CutPrefix(goSum, "h1:"); found {
		if digest, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			c.Properties = &[]cdx.Property{{Name: "go:sum:h1", Value: hex.EncodeToString(digest)}}
		}
	}
	return c
}

// settings are what the compiler was given.
func settings(info *debug.BuildInfo) *[]cdx.Property {
	list := []cdx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, setting := range info.Settings {
		list = append(list, cdx.Property{Name: "go:build:" + setting.Key, Value: setting.Value})
	}
	return &list
}

func dependencies(product cdx.Component, parts []cdx.Component) *[]cdx.Dependency {
	refs := make([]string, len(parts))
	list := []cdx.Dependency{{Ref: product.BOMRef, Dependencies: &refs}}
	for i, part := range parts {
		refs[i] = part.BOMRef
		list = append(list, cdx.Dependency{Ref: part.BOMRef})
	}
	return &list
}

func sum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// serial is a UUID as a BOM has to have one, of the kind whose bits are the maker's own
// (RFC 9562, version 8), so that the same program has the same.
func serial(executable []byte) string {
	id := sha256.Sum256(executable)
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
