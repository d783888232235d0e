package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// Find must find secrets, or every test that uses it proves nothing.
func TestFind(t *testing.T) {
	secret := Of("this test")
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is":             "password " + secret + " is wrong",
		"its beginning":        secret[:9] + "…",
		"its end":              "…" + secret[len(secret)-9:],
		"its middle":           "…" + secret[11:20] + "…",
		"in lower case":        strings.ToLower(secret),
		"in a URL":             "https://u:" + url.QueryEscape(secret) + "@example.com",
		"in JSON":              string(quoted),
		"twice quoted":         fmt.Sprintf("%q", fmt.Sprintf("%q", secret)),
		"in two lines":         secret[:15] + "\n" + secret[15:],
		"in colour":            "\x1b[31m" + secret[:5] + "\x1b[0m" + secret[5:],
		"in base64":            base64.StdEncoding.EncodeToString([]byte(secret)),
		"after a user name":    base64.StdEncoding.EncodeToString([]byte("u:" + secret)),
		"after another one":    base64.StdEncoding.EncodeToString([]byte("us:" + secret + "\n")),
		"in base64 for URLs":   base64.URLEncoding.EncodeToString([]byte("user:" + secret)),
		"in base64 in lines":   base64.StdEncoding.EncodeToString([]byte(secret))[:20] + "\n " + base64.StdEncoding.EncodeToString([]byte(secret))[20:],
		"in hexadecimal":       hex.EncodeToString([]byte(secret)),
		"in large hexadecimal": fmt.Sprintf("% X", secret),
		"as bytes":             fmt.Sprint([]byte(secret)),
	} {
		if Find(text, secret) == "" {
			t.Errorf("%s: not found in %q", name, text)
		}
	}
	for name, text := range map[string]string{
		"nothing":             "",
		"another place's":     Of("another place"),
		"seven characters":    secret[:7],
		"what errors look as": "https://example.com/a: the server answered with HTTP status 401",
	} {
		if found := Find(text, secret); found != "" {
			t.Errorf("%s: %s", name, found)
		}
	}
}

func TestForgery(t *testing.T) {
	if Forgery("a plain line, with ä and 世界") != "" {
		t.Error("a plain line is taken for a forgery")
	}
	for name, text := range map[string]string{
		"line break": "a\nb", "return": "a\rb", "tab": "a\tb", "escape": "a\x1b[31m", "C1 escape": "a\u009b2J",
		"bidirectional override": "a\u202eb", "isolate": "a\u2066b", "zero width": "a\u200bb", "line separator": "a\u2028b",
		"tag": "a\U000e0041b", "not UTF-8 any more": "a\x00b", "hostile": Hostile("x"),
	} {
		if Forgery(text) == "" {
			t.Errorf("%s: %q is taken for a plain line", name, text)
		}
	}
}
