package git

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/source"
)

// address is a checked URL. What could be a secret was refused, but for the user
// of ssh, so all else may be printed.
type address struct {
	scheme string // "https", "http", "ssh" or "file"
	user   string // ssh only; it may be a token
	host   string // with the port where one was given; empty for file
	path   string // escaped for http and https, plain for ssh and file
}

// schemes that this package speaks. Everything else is refused before anything
// is contacted: git:// is neither encrypted nor authenticated, and ext:: and its
// like run programs.
var schemes = map[string]bool{"https": true, "http": true, "ssh": true, "file": true}

// parseAddress checks a URL. Its errors never repeat the URL, which may carry a
// credential (I10).
func parseAddress(raw string) (address, error) {
	switch {
	case raw == "":
		return address{}, invalidURL("the URL is empty")
	case len(raw) > 2048:
		return address{}, invalidURL("the URL is longer than 2048 bytes")
	case sanitize.Line(raw) != raw || strings.ContainsAny(raw, " \\"):
		return address{}, invalidURL("the URL holds a character that does not belong there")
	case strings.Contains(raw, "://"):
		return parseURL(raw)
	}
	return address{}, invalidURL("the URL has no scheme").
		WithHint("write user@host:path as ssh://user@host/path, and a local path as file:///absolute/path")
}

func parseURL(raw string) (address, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return address{}, invalidURL("the URL cannot be parsed")
	}
	if !schemes[u.Scheme] {
		return address{}, invalidURL("the URL is neither https, http, ssh nor file")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return address{}, invalidURL("the URL has a query or a fragment").
			WithHint("give a credential by secret, never in the URL")
	}
	a := address{scheme: u.Scheme, host: u.Host, path: u.Path}
	if a.user, err = userOf(u); err != nil {
		return address{}, err
	}
	switch {
	case a.scheme == "file" && a.host != "":
		return address{}, invalidURL("a file URL names no host").WithHint("write file:///absolute/path, with three slashes")
	case !isASCII(u.Host):
		// Cases and forms of other letters are compared here in one way, and looked up in another.
		return address{}, invalidURL("the host name has letters that are not of ASCII").WithHint("write it as it is looked up, which begins with xn--")
	case a.scheme != "file" && u.Hostname() == "":
		return address{}, invalidURL("the URL names no host")
	case a.scheme == "http", a.scheme == "https":
		a.path = strings.TrimRight(u.EscapedPath(), "/")
	}
	return checkPath(a)
}

// userOf lets a user name through where it names whom to log in as: for ssh. For
// http it may be a token, which is why git calls it user name.
func userOf(u *url.URL) (string, error) {
	if userInPath.MatchString(u.Path) {
		return "", credentialInURL()
	}
	if u.User == nil {
		return "", nil
	}
	_, password := u.User.Password()
	if u.Scheme != "ssh" || password {
		return "", credentialInURL()
	}
	return u.User.Username(), nil
}

// userInPath finds the user information of a URL that is the path of another
// one, as some mirrors and proxies have it.
var userInPath = regexp.MustCompile(`:/*[^/]*@`)

func credentialInURL() *source.Error {
	return invalidURL("the URL carries a credential").
		WithHint("take it out of the URL, give it by secret, and replace it: it is in the clear wherever the URL was")
}

// checkPath refuses a path that a program could take for an option.
func checkPath(a address) (address, error) {
	switch {
	case strings.Trim(a.path, "/") == "":
		return address{}, invalidURL("the URL names no repository")
	case strings.HasPrefix(a.path, "-"), sanitize.Line(a.path) != a.path, sanitize.Line(a.user) != a.user, strings.HasPrefix(a.user, "-"):
		return address{}, invalidURL("the URL holds a character that does not belong there")
	}
	return a, nil
}

// String is the address for an error, without the user.
func (a address) String() string {
	return a.scheme + "://" + a.host + "/" + strings.TrimPrefix(a.path, "/")
}

// dialAddress is host and port for a connection by ssh.
func (a address) dialAddress() string {
	if _, _, err := net.SplitHostPort(a.host); err == nil {
		return a.host
	}
	return net.JoinHostPort(strings.Trim(a.host, "[]"), "22")
}

func invalidURL(text string) *source.Error { return source.NewError(source.ErrInvalid, "url", text) }

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}
