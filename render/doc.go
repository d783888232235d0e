// Package render computes from pool files the desired state of nodes and
// RuntimeClasses. It is pure: it has no client, no clock and no operating
// system, and the same input gives the same bytes.
//
// It has two entry points. [Load] reads the NodePools of a file tree, strictly,
// and reports every problem at once with file and line. [Expand] takes pools,
// and returns which RuntimeClasses there should be and which labels,
// annotations and taints each node should have. [WriteYAML] prints the results.
package render
