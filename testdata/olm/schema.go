//go:build schema

// Package olm has the version of the schema of ClusterServiceVersions that tests hold the
// bundle to: go mod download brings it. This file is never compiled; its import keeps the
// module in go.mod, which go mod tidy would take out otherwise.
package olm

import _ "github.com/operator-framework/api/crds"
