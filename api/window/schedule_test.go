package window

import (
	"errors"
	"strings"
	"testing"
)

func TestParseSchedule(t *testing.T) {
	cases := map[string]struct {
		reason string
		wrong  string // part of the error; empty where there is none
	}{
		"0 2 * * 6":                            {"five fields", ""},
		"*/15 22,23 1-7 jan-mar *":             {"lists, ranges, steps and names", ""},
		"30 2 * * MON-fri":                     {"names in any case", ""},
		"5/20 * * * *":                         {"a step from a value on", ""},
		"00 02 * * 06":                         {"leading zeros", ""},
		"0 0 29 2 *":                           {"there is one in leap years", ""},
		"0 0 31 1-12 *":                        {"some of the months have it", ""},
		"@hourly":                              {"a name", ""},
		"@daily":                               {"a name", ""},
		"@midnight":                            {"a name", ""},
		"@weekly":                              {"a name", ""},
		"@monthly":                             {"a name", ""},
		"@yearly":                              {"a name", ""},
		"@annually":                            {"a name", ""},
		"TZ=UTC":                               {"the parser panics at it", "time zone"},
		"CRON_TZ=x":                            {"the parser panics at it", "time zone"},
		"CRON_TZ=Europe/Berlin 0 2 * * 6":      {"the parser takes it, and the zone stands elsewhere", "time zone"},
		"TZ=Local 0 2 * * 6":                   {"the parser takes it", "time zone"},
		"@every 1h":                            {"starts with the process, and not at a time", "one of @hourly"},
		"@every 1h30m":                         {"the same", "one of @hourly"},
		"@reboot":                              {"no such name", "one of @hourly"},
		"*/90 * * * *":                         {"the parser makes every hour of it", `step "90" must be a number from 1 to 59`},
		"*/60 * * * *":                         {"the same", "from 1 to 59"},
		"0 */24 * * *":                         {"every day", "from 1 to 23"},
		"*/0 * * * *":                          {"no step at all", "from 1 to 59"},
		"0 2 1-7 * 6":                          {"not the first Saturday, as it looks", "both the day of month and the day of week"},
		"0 2 */2 * 6":                          {"a step restricts as well", "both the day of month and the day of week"},
		"0 2 * * 7":                            {"Sunday is 0", "Sunday is 0"},
		"0 2 * * sat-sun":                      {"goes over the end of the week", "two of them, as in sat-sat,sun-sun"},
		"0 22-2 * * *":                         {"goes over midnight", "two of them, as in 22-23,0-2"},
		"0 2 * * mon-5":                        {"hard to read", "two numbers or two names"},
		"0 0 2 * * 6":                          {"six fields", "five fields"},
		"0 2 * *":                              {"four fields", "five fields"},
		"":                                     {"nothing", "five fields"},
		"0  2 * * 6":                           {"two blanks", "five fields"},
		" 0 2 * * 6":                           {"a blank before it", "five fields"},
		"0\t2 * * 6":                           {"a tabulator", "five fields"},
		"60 * * * *":                           {"no such minute", "from 0 to 59"},
		"0 24 * * *":                           {"no such hour", "from 0 to 23"},
		"0 0 0 * *":                            {"no such day", "from 1 to 31"},
		"0 0 32 * *":                           {"no such day", "from 1 to 31"},
		"0 0 1 13 *":                           {"no such month", "from 1 to 12, or jan to dec"},
		"0 0 1 foo *":                          {"no such month", "from 1 to 12, or jan to dec"},
		"1,,2 * * * *":                         {"an empty part", `"" must be a number`},
		"-1 * * * *":                           {"negative", `"" must be a number`},
		"+1 * * * *":                           {"a sign", `"+1" must be a number`},
		"1-2-3 * * * *":                        {"two hyphens", `"2-3" must be a number`},
		"*-5 * * * *":                          {"the parser ignores what follows", `"*" must be a number`},
		"*/5/5 * * * *":                        {"two steps", "step"},
		"? * * * *":                            {"means * elsewhere", `"?" must be a number`},
		"0 0 30 2 *":                           {"there is none", "never starts"},
		"0 0 31 2,4,6,9,11 *":                  {"there is none", "never starts"},
		"0 0 30,31 feb *":                      {"there is none", "never starts"},
		strings.Repeat("0,", 70) + "0 * * * *": {"too long", "no more than 128"},
	}
	for text, c := range cases {
		s, err := ParseSchedule(text)
		switch {
		case c.wrong == "" && (err != nil || s.String() != text):
			t.Errorf("%q: error %v, want none: %s", text, err, c.reason)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%q: error %v, want one with %q: %s", text, err, c.wrong, c.reason)
		}
	}
	if _, err := ParseSchedule("0 0 30 2 *"); !errors.Is(err, ErrNeverStarts) {
		t.Errorf("error %v, want %v", err, ErrNeverStarts)
	}
}

// What no check has refused must not end the process.
func TestParseRecovers(t *testing.T) {
	for _, text := range []string{"TZ=UTC", "CRON_TZ=x", "@every 1h"} {
		if s, err := parse(text); err == nil {
			t.Errorf("%q is parsed as %v", text, s)
		}
	}
}

func TestLoadZone(t *testing.T) {
	cases := map[string]struct{ reason, zone, wrong string }{
		"Europe/Berlin":         {"a zone", "Europe/Berlin", ""},
		"":                      {"the default", "UTC", ""},
		"UTC":                   {"a zone", "UTC", ""},
		"Local":                 {"differs from machine to machine", "", "must name a zone"},
		"local":                 {"the same", "", "must name a zone"},
		"localtime":             {"the same, by the file of the machine", "", "must name a zone"},
		"posixrules":            {"what the machine was set up with", "", "must name a zone"},
		"posix/Europe/Berlin":   {"only some have the folder", "", "must name a zone"},
		"Right/Europe/Berlin":   {"with leap seconds", "", "must name a zone"},
		"Europe/Atlantis":       {"no such zone", "", "not in the time zone database"},
		"../../etc/passwd":      {"a path", "", "not in the time zone database"},
		"/etc/localtime":        {"a path", "", "not in the time zone database"},
		strings.Repeat("a", 65): {"too long", "", "no more than 64"},
	}
	for name, c := range cases {
		zone, err := LoadZone(name)
		switch {
		case c.wrong == "" && (err != nil || zone.String() != c.zone):
			t.Errorf("%q: %v and error %v, want %s: %s", name, zone, err, c.zone, c.reason)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%q: error %v, want one with %q: %s", name, err, c.wrong, c.reason)
		}
	}
}
