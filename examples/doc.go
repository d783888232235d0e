// Package examples holds pool repositories to copy from, one per folder, and
// manifests to apply. Its tests load and expand every one of them.
package examples
