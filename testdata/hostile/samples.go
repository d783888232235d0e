package hostile

import "strings"

// Samples are texts made to deceive whoever reads them, by what each of them tries: a
// few that are short enough to be shown in a failure, and two that are large.
func Samples() map[string]string {
	return map[string]string{
		"escape sequence":     "\x1b[2J\x1b]0;title\x07",
		"one of eight bits":   "a\u009b31mb",
		"line":                "x\nerror: nothing\r\n",
		"order of letters":    "a\u202eb\u2066c",
		"other ends of lines": "a\u2028b\u2029c\u0085d",
		"no text":             "a\xffb",
		"quotation marks":     "a\"b\u202e`",
		"far away":            "\U000e0041\U0001f600",
		"large":               strings.Repeat("\x1b\u202e", 20_000),
		"large and plain":     strings.Repeat("x", 256<<10),
	}
}
