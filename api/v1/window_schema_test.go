package v1_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/window"
)

// FuzzScheduleSchema: the schema takes a schedule that the parser takes, and no other,
// but for days that do not exist: those only who validates files knows.
func FuzzScheduleSchema(f *testing.F) {
	schema := specSchema(f, v1.NodePoolSourceKind).Properties["windows"].Items.Schema.Properties["schedule"]
	var must, mustNot []*regexp.Regexp
	for _, rule := range schema.XValidations {
		for _, found := range regexp.MustCompile(`(!?)self\.matches\(r'([^']*)'\)`).FindAllStringSubmatch(rule.Rule, -1) {
			compiled := regexp.MustCompile(found[2])
			switch {
			case found[1] == "!":
				mustNot = append(mustNot, compiled)
			case !strings.Contains(rule.Rule, "||"):
				must = append(must, compiled)
			}
		}
	}
	if len(must) != 1 || len(mustNot) != 1 {
		f.Fatalf("%d and %d expressions in the schema, want one each", len(must), len(mustNot))
	}
	for _, text := range []string{
		"0 2 * * 6", "*/15 22,23 1-7 jan-MAR *", "@daily", "@every 1h", "TZ=UTC", "*/90 * * * *", "*/59 */23 */30 */11 *", "*/60 * * * *", "0 2 1-7 * 6", "0 2 * * 7", "0 2 * * sat-sun",
		"0 2 * * mon-5", "0 2 * * 1-fri", "0 22-2 * * *", "0 9-10 * * *", "0 10-9 * * *", "59-00 * * * *", "05-4 * * * *", "0-05 * * * *", "22-21/2 * * * *", "1,,2 * * * *", "0 0 2 * * 6", "0  2 * * 6", " @daily", "0 0 30 2 *",
		"0 0 31-30 * *", "0 0 * dec-jan *", "0 0 * 12-1 *", "0 0 * 10-9 *", "000 * * * *", "* * * * * ", "?", "0 0 1-1 * *", "7/7 7/7 7/7 7/7 *", "0 0 * * 6/6", "0 0 * * 6/7",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("no file and no API server has such a text")
		}
		taken := int64(utf8.RuneCountInString(text)) <= *schema.MaxLength && must[0].MatchString(text) && !mustNot[0].MatchString(text) &&
			(strings.HasPrefix(text, "@") || regexp.MustCompile(`^[^ ]+ [^ ]+ [*] `).MatchString(text) || strings.HasSuffix(text, " *"))
		if _, err := window.ParseSchedule(text); (err == nil || errors.Is(err, window.ErrNeverStarts)) != taken {
			t.Errorf("%q: the schema takes it: %t; the parser says: %v", text, taken, err)
		}
	})
}
