package main

import (
	"math"
	"strconv"
	"strings"
)

// number writes a figure for a reader: three digits that count, whole from 100
// on, with commas between thousands.
func number(n float64) string {
	switch size := math.Abs(n); {
	case size >= 99.95 || n == math.Trunc(n):
		return withCommas(strconv.FormatFloat(n, 'f', 0, 64))
	case size >= 9.995:
		return shortened(n, 1)
	case size >= 0.995:
		return shortened(n, 2)
	case size >= 0.0005:
		return shortened(n, 3)
	}
	return strconv.FormatFloat(n, 'g', 2, 64) // too small to be nothing in silence
}

// shortened drops zeros that say nothing.
func shortened(n float64, digits int) string {
	text := strconv.FormatFloat(n, 'f', digits, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func withCommas(digits string) string {
	digits, negative := strings.CutPrefix(digits, "-")
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	if negative && digits != "0" {
		return "-" + digits
	}
	return digits
}

// measured is the value with its unit.
func (f Figure) measured() string {
	if f.Target != nil && f.Baseline == nil {
		return apart(f.Value, f.Target.AtMost) + unit(f.Unit)
	}
	return withUnit(f.Value, f.Unit)
}

// apart writes a number with as many digits as distinguish it from its target: what misses
// it by little must not look like it.
func apart(n, target float64) string {
	text := number(n)
	if n != target && text == number(target) {
		return strconv.FormatFloat(n, 'g', 7, 64)
	}
	return text
}

// compared is the baseline with its unit and its name; empty where there is none.
func (f Figure) compared() string {
	if f.Baseline == nil {
		return ""
	}
	return withUnit(f.Baseline.Value, f.Unit) + ", " + f.Baseline.Name
}

// times is the ratio; empty where there is nothing to compare with, and where that
// is 0, which no number is a multiple of.
func (f Figure) times() string {
	if f.Baseline == nil || f.Baseline.Value == 0 {
		return ""
	}
	if f.Target != nil {
		return apart(f.Ratio(), f.Target.AtMost) + unit("×")
	}
	return withUnit(f.Ratio(), "×")
}

// bound is the target: a multiple of the baseline where there is one, and in the
// figure's unit where there is none.
func (f Figure) bound() string {
	switch {
	case f.Target == nil:
		return ""
	case f.Baseline != nil:
		return withUnit(f.Target.AtMost, "×")
	}
	return number(f.Target.AtMost)
}

// verdict says whether the target is reached; empty where there is none.
func (f Figure) verdict() string {
	switch {
	case f.Target == nil:
		return ""
	case f.Missed():
		return "MISSED"
	}
	return "reached"
}

// judged is the bound and whether the figure is within it, as a cell.
func (f Figure) judged() string { return strings.TrimSpace(f.bound() + " " + f.verdict()) }

// joined is a space at which no line is broken, between a number and its unit.
const joined = "\u00a0"

func withUnit(n float64, name string) string { return number(n) + unit(name) }

func unit(name string) string {
	if name == "" {
		return ""
	}
	return joined + name
}

// balance counts the targets, and names those that are missed.
func (r Report) balance() string {
	targets := 0
	var missed []string
	for _, f := range r.Figures {
		if f.Target != nil {
			targets++
		}
		if f.Missed() {
			missed = append(missed, f.Row+": "+f.Name)
		}
	}
	text := number(float64(targets-len(missed))) + " of " + number(float64(targets)) + " targets reached."
	if len(missed) > 0 {
		text += " Missed: " + strings.Join(missed, "; ") + "."
	}
	return text
}
