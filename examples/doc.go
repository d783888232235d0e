// Package examples holds pool repositories to copy from, one per folder, manifests
// to apply, and in ci the recipes for reviewing pull requests. Its tests load and
// expand every repository; those of cmd/nodepools run the recipes.
package examples
