//go:build binaries

// This file is never compiled. Its import keeps in go.mod what testdata/thirdparty builds,
// which go mod tidy would take out otherwise.

package main

import _ "code.gitea.io/gitea"
