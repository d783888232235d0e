// Package render turns pool files into what nodes and RuntimeClasses should
// be. It is pure: it has no client, no clock and no operating system, and the
// same input gives the same bytes.
//
// It has two entry points. [Load] reads the NodePools of a file tree, strictly,
// and reports every problem at once with file and line. Expand takes pools and
// nodes, and says which RuntimeClasses there should be and what each node
// should carry. What comes out is printed with [WriteYAML].
package render
