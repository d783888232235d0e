package main

import (
	"math"
	"slices"
)

// percentile is the smallest value that p percent of all values do not exceed.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// median is the value in the middle, or between the two that are there.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// each is a value of each.
func each[T any](all []T, value func(T) float64) []float64 {
	values := make([]float64, len(all))
	for i, one := range all {
		values[i] = value(one)
	}
	return values
}
