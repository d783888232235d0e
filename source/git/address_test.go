package git

import (
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/sources"
)

func TestParseAddress(t *testing.T) {
	cases := map[string]struct{ reason, url, want string }{
		"https":       {"the usual form", "https://example.com/a/b.git", "https://example.com/a/b.git"},
		"https slash": {"a slash at the end means nothing", "https://example.com/a/b/", "https://example.com/a/b"},
		"http port":   {"a port is kept", "http://example.com:3000/a", "http://example.com:3000/a"},
		"escaped":     {"escapes stay escaped", "https://example.com/a%20b", "https://example.com/a%20b"},
		"ssh":         {"a user may be named, and is not reported: it may be a token", "ssh://git@example.com:2222/a.git", "ssh://example.com:2222/a.git"},
		"file":        {"three slashes", "file:///srv/pools.git", "file:///srv/pools.git"},
		"IPv6":        {"an address in brackets", "https://[::1]:3000/a", "https://[::1]:3000/a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, err := parseAddress(c.url)
			if err != nil || a.String() != c.want {
				t.Errorf("%s: got %q, %v, want %q", c.reason, a, err, c.want)
			}
		})
	}
}

func TestParseAddressRefuses(t *testing.T) {
	const canary = "s3cr3t"
	cases := map[string]struct{ reason, url string }{
		"empty":             {"nothing to follow", ""},
		"git":               {"neither encrypted nor authenticated", "git://example.com/" + canary},
		"ext":               {"runs a program", "ext::sh -c " + canary},
		"ext short":         {"runs a program, in the short form", "ext::" + canary},
		"ftp":               {"not spoken here", "ftp://example.com/" + canary},
		"local path":        {"a path needs file://", "/srv/" + canary},
		"relative path":     {"a path needs file://", "./srv:" + canary},
		"drive":             {"one letter is a drive, no host", `C:` + canary},
		"http user":         {"F20: a token is often the user name", "https://" + canary + "@example.com/a"},
		"http password":     {"a credential in the URL", "https://user:" + canary + "@example.com/a"},
		"ssh password":      {"a credential in the URL", "ssh://git:" + canary + "@example.com/a"},
		"file user":         {"makes no sense", "file://" + canary + "@/a"},
		"query":             {"a token is often in the query", "https://example.com/a?token=" + canary},
		"fragment":          {"makes no sense", "https://example.com/a#" + canary},
		"file with a host":  {"two slashes instead of three", "file://srv/" + canary},
		"no host":           {"nobody to ask", "https:///" + canary},
		"no path":           {"no repository", "https://example.com/"},
		"not parsable":      {"the parser's error repeats the URL", "https://user:" + canary + "@exa mple.com/%zz"},
		"bad escape":        {"the parser's error repeats the URL", "https://example.com/%zz" + canary},
		"control character": {"no line break", "https://example.com/a\n" + canary},
		"short form of ssh": {"git's own; the API server offers that of ssh://", "git@example.com:" + canary},
		"option as host":    {"a program could take it for an option", "-oProxyCommand=" + canary + ":a"},
		"other letters":     {"its lower case is another host: i for a dotted capital", "https://g\u0130thub.com/" + canary},
		"escaped letters":   {"the same, escaped", "https://g%C4%B0thub.com/" + canary},
		"control in host":   {"of a terminal", "https://x%C2%9B31m.example/" + canary},
		"very long":         {"no room for it in an error", "https://example.com/" + canary + strings.Repeat("a", 3000)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := (&Repository{URL: c.url}).Head(t.Context())
			sources.WantError(t, err, source.ErrInvalid)
			if text := err.Error() + source.Hint(err); strings.Contains(text, canary) {
				t.Errorf("%s: %q repeats the URL", c.reason, text)
			}
		})
	}
}
