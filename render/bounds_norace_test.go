//go:build !race

package render

const mostPerPattern = most
