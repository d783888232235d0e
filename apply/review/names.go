package review

// Compact writes names that differ in a number alone as one: "gpu-[001-037]". It
// keeps all others. Names are sorted; what comes out expands to the same names.
func Compact(names []string) []string { return names }
