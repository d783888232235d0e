package auth

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/source"
)

// Covers returns why a credential must not be sent to a URL; nil where it may. The
// prefix is a URL of the same scheme, host and port, whose path is that of the other
// one or the beginning of it, by whole elements: https://git.example.com/platform
// covers https://git.example.com/platform/pools.git, and not /platform-2. Elements are
// compared as they are when they are decoded. A user name is no part of either. What
// could be read in two ways is covered by nothing.
//
// Errors: source.ErrInvalid where the URL itself cannot be covered, source.ErrCredential
// where another prefix would cover it.
func Covers(prefix, rawURL string) error {
	if prefix == "" {
		return invalid("it does not say which URLs it is for")
	}
	within, problem := locate(prefix)
	switch {
	case problem != "":
		return invalid("its URL prefix " + problem)
	case within.scheme != "https" && within.scheme != "ssh":
		return invalid("its URL prefix must begin with https:// or ssh://: over anything else a credential can be read on its way")
	}
	at, problem := locate(rawURL)
	if problem != "" {
		return source.NewError(source.ErrInvalid, "url", "the URL "+problem+", so no credential is sent there").
			WithHint("write the URL that the server shows for cloning: / and . themselves, and a space as %20")
	}
	if at.scheme != within.scheme || at.host != within.host || len(at.path) < len(within.path) || !slices.Equal(at.path[:len(within.path)], within.path) {
		return invalid("it is for URLs within another prefix than that of the source")
	}
	return nil
}

// location is the part of a URL by which prefixes are compared.
type location struct {
	scheme, host string // the host has a port
	path         []string
}

// ambiguous are escapes of /, \, . and %: some programs on the way decode them before they
// divide a path into elements, and some after that.
var ambiguous = regexp.MustCompile(`(?i)%(2f|5c|2e|25)`)

var ports = map[string]string{"https": "443", "http": "80", "ssh": "22"}

// locate reads a URL, or says what is wrong with it.
func locate(raw string) (location, string) {
	if sanitize.Line(raw) != raw || strings.ContainsAny(raw, ` \`) {
		return location{}, "has a character that no URL has"
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "" || u.Scheme == "" || u.Hostname() == "":
		return location{}, "is no URL such as https://git.example.com/platform"
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r >= 0x80 }):
		return location{}, "has a host name with letters that are not of ASCII, which is to be written as xn--"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#"):
		return location{}, "has a query or a fragment"
	case ambiguous.MatchString(u.EscapedPath()):
		return location{}, "has %2F, %5C, %2E or %25 in its path"
	case strings.Contains(u.Path, ";"):
		return location{}, "has a ; in its path, which some servers cut before they resolve .."
	case sanitize.Line(u.Path) != u.Path:
		return location{}, "has a control character in its path"
	}
	if _, password := u.User.Password(); password {
		return location{}, "has a password in it"
	}
	port := u.Port()
	if port == "" {
		port = ports[u.Scheme]
	}
	l := location{scheme: u.Scheme, host: net.JoinHostPort(strings.ToLower(u.Hostname()), port)}
	if path := strings.Trim(u.Path, "/"); path != "" {
		l.path = strings.Split(path, "/")
	}
	for _, element := range l.path {
		if element == "" || element == "." || element == ".." {
			return location{}, "has an empty element, . or .. in its path"
		}
	}
	return l, ""
}
