package auth

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/source"
)

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		reason, prefix, url string
		want                string // in the error; empty for none
	}{
		{"the URL itself", "https://git.example.com/a/b.git", "https://git.example.com/a/b.git", ""},
		{"another host, whose lower case is the one that is meant", "https://github.com", "https://g\u0130thub.com/a", "not of ASCII"},
		{"the same, escaped", "https://github.com", "https://g%C4%B0thub.com/a", "not of ASCII"},
		{"a prefix of other letters", "https://g\u0130thub.com", "https://github.com/a", "not of ASCII"},
		{"a whole host", "https://git.example.com", "https://git.example.com/a/b.git", ""},
		{"a slash behind", "https://git.example.com/a/", "https://git.example.com/a/b.git", ""},
		{"case of the host", "https://Git.Example.com/a", "https://git.example.COM/a/b", ""},
		{"the usual port", "https://git.example.com:443/a", "https://git.example.com/a/b", ""},
		{"the usual port of ssh", "ssh://git.example.com/a", "ssh://git@git.example.com:22/a/b", ""},
		{"a space, as in Azure DevOps", "https://dev.azure.com/acme/My%20Project", "https://dev.azure.com/acme/My%20Project/_git/pools", ""},
		{"a space, by a host", "https://dev.azure.com", "https://dev.azure.com/acme/My%20Project/_git/pools", ""},
		{"a space, by ssh", "ssh://ssh.dev.azure.com/v3/acme/My%20Project", "ssh://git@ssh.dev.azure.com/v3/acme/My%20Project/pools", ""},
		{"escaped in one of both", "https://git.example.com/%61/%c3%A9", "https://git.example.com/a/\u00e9/b", ""},
		{"another user", "ssh://git@git.example.com/a", "ssh://deploy@git.example.com/a/b", ""},

		{"none", "", "https://git.example.com/a", "does not say"},
		{"half an element", "https://git.example.com/a", "https://git.example.com/ab", "another prefix"},
		{"without .git", "https://git.example.com/a/b", "https://git.example.com/a/b.git", "another prefix"},
		{"case of the path", "https://git.example.com/a", "https://git.example.com/A/b", "another prefix"},
		{"longer host", "https://git.example.com", "https://git.example.com.evil.example/a", "another prefix"},
		{"host as the user", "https://git.example.com", "https://git.example.com@evil.example/a", "another prefix"},
		{"other port", "https://git.example.com", "https://git.example.com:8443/a", "another prefix"},
		{"other scheme", "https://git.example.com", "http://git.example.com/a", "another prefix"},
		{"ssh for https", "ssh://git.example.com", "https://git.example.com/a", "another prefix"},
		{"out of it again", "https://git.example.com/a", "https://git.example.com/a/../b", ". or .."},
		{"escaped dots", "https://git.example.com/a", "https://git.example.com/a/%2e%2e/b", "%2E"},
		{"dots before a parameter", "https://git.example.com/a", "https://git.example.com/a/..;/b", "a ; in its path"},
		{"escaped dots in upper case", "https://git.example.com/a", "https://git.example.com/a/%2E./b", "%2E"},
		{"escaped slash", "https://git.example.com/a", "https://git.example.com/a%2fb", "%2F"},
		{"escaped backslash", "https://git.example.com/a", "https://git.example.com/a/..%5Cb", "%5C"},
		{"escaped twice", "https://git.example.com/a", "https://git.example.com/a/%252e%252e/b", "%25"},
		{"escaped line break", "https://git.example.com/a", "https://git.example.com/a/b%0Ac", "control character"},
		{"escaped mark of direction", "https://git.example.com/a", "https://git.example.com/a/%E2%80%AEb", "control character"},
		{"escaped half of a letter", "https://git.example.com/a", "https://git.example.com/a/%C3", "control character"},
		{"another project", "https://dev.azure.com/acme/My%20Project", "https://dev.azure.com/acme/My%20Project2/_git/pools", "another prefix"},
		{"prefix with an escaped slash", "https://git.example.com/a%2Fb", "https://git.example.com/a/b", "%2F"},
		{"two slashes", "https://git.example.com/a/b", "https://git.example.com/a//b", "empty element"},
		{"backslash", "https://git.example.com/a", `https://git.example.com\@evil.example/a`, "a character"},
		{"line break", "https://git.example.com/a", "https://git.example.com/a\n/b", "a character"},
		{"query", "https://git.example.com/a", "https://git.example.com/a?b", "a query"},
		{"prefix without a scheme", "git.example.com/a", "https://git.example.com/a", "no URL"},
		{"prefix of http", "http://git.example.com/a", "http://git.example.com/a", "must begin with https"},
		{"prefix with a password", "https://u:p@git.example.com/a", "https://git.example.com/a", "password"},
		{"prefix of all", "https://", "https://git.example.com/a", "no URL"},
		{"pattern", "https://*.example.com", "https://git.example.com/a", "another prefix"},
		{"short form of ssh", "ssh://git.example.com/a", "git@git.example.com:a/b", "no URL"},
	} {
		err := Covers(c.prefix, c.url)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.reason, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.reason, err, c.want)
		}
	}
}

// The remedy of a URL that can be read in two ways is another URL: no prefix covers it.
func TestCoversNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		reason, prefix, url string
		kind                error
		hint                string
	}{
		{"only the URL can be corrected", "https://git.example.com", "https://git.example.com/a%2Fb", source.ErrInvalid, "/ and . themselves"},
		{"so can a space", "https://git.example.com", "https://git.example.com/a b", source.ErrInvalid, "%20"},
		{"the prefix can be corrected", "https://git.example.com/a%2Fb", "https://git.example.com/a/b", source.ErrCredential, ""},
		{"another prefix covers the URL", "https://git.example.com/a", "https://git.example.com/b", source.ErrCredential, ""},
	} {
		err := Covers(c.prefix, c.url)
		if !errors.Is(err, c.kind) || !strings.Contains(source.Hint(err), c.hint) {
			t.Errorf("%s: %v (%s), hint %q", c.reason, err, source.Reason(err), source.Hint(err))
		}
	}
}

// FuzzCovers: what a prefix covers has its scheme, its host and its port, as net/url
// and so every request have them, and a path that does not leave it.
func FuzzCovers(f *testing.F) {
	for _, seed := range [][2]string{
		{"https://git.example.com/a", "https://git.example.com/a/b"}, {"https://[::1]:443", "https://[::1]/x"},
		{"ssh://git@h/a", "ssh://h:22/a"}, {"https://h/a", `https://h\@e/a`}, {"https://h", "https://h@e"}, {"https://h/%61", "https://h/a"}, {"https://h/a%20b", "https://h/a%20b/c"}, {"https://h/a", "https://h/a/%252e%252e/c"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, prefix, raw string) {
		if Covers(prefix, raw) != nil {
			return
		}
		p, err := url.Parse(prefix)
		if err != nil {
			t.Fatalf("prefix %q: %v", prefix, err)
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if u.Scheme != p.Scheme || !strings.EqualFold(u.Hostname(), p.Hostname()) || u.Scheme == "http" || u.Scheme == "file" {
			t.Errorf("%q covers %q", prefix, raw)
		}
		within, path := strings.Trim(p.Path, "/")+"/", strings.Trim(u.Path, "/")+"/"
		if within != "/" && !strings.HasPrefix(path, within) || strings.Contains("/"+path, "/../") || strings.ContainsAny(path, `\%`) {
			t.Errorf("%q covers %q", prefix, raw)
		}
	})
}
