package main

// Figure is one thing that was measured, and what it is compared with. Machines
// differ and have moods: where there is a baseline, it was measured in the same
// run, and the ratio is what counts.
type Figure struct {
	// Row of the table that the figure stands in, such as "converge".
	Row string `json:"row"`
	// Name says what was measured.
	Name string `json:"name"`
	// Value in the unit.
	Value float64 `json:"value"`
	// Unit is "s", "ms", "MiB", "KiB", "requests" and so on.
	Unit string `json:"unit"`
	// Baseline is what the value is compared with; nil where it stands alone.
	Baseline *Baseline `json:"baseline,omitempty"`
	// Target that the project has set itself; nil for a figure that only informs.
	Target *Target `json:"target,omitempty"`
}

// Baseline is the same thing measured of something else, in the figure's unit.
type Baseline struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Target bounds a figure: its ratio where it has a baseline, else its value.
type Target struct {
	AtMost float64 `json:"atMost"`
}

// Ratio of the value to the baseline; 0 where there is no baseline or it is 0.
func (f Figure) Ratio() float64 {
	if f.Baseline == nil || f.Baseline.Value == 0 {
		return 0
	}
	return f.Value / f.Baseline.Value
}

// Missed reports whether the figure has a target and does not reach it.
func (f Figure) Missed() bool {
	if f.Target == nil {
		return false
	}
	if f.Baseline != nil && f.Baseline.Value == 0 {
		return f.Value > 0 // no multiple of nothing is something
	}
	if f.Baseline != nil {
		return f.Ratio() > f.Target.AtMost
	}
	return f.Value > f.Target.AtMost
}
