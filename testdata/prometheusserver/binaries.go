//go:build binaries

// This file is never compiled. Its imports keep in go.mod what testdata/thirdparty builds,
// which go mod tidy would take out otherwise.

package main

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
