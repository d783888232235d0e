package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/source"
)

const secret = "a-token-of-enough-bytes"

func tokenOf(t testing.TB, secret string) Token {
	t.Helper()
	token, err := ParseToken(v1.WebhookSecretType, map[string][]byte{TokenKey: []byte(secret)})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func sign(newHash func() hash.Hash, secret, body string) string {
	mac := hmac.New(newHash, []byte(secret))
	mac.Write([]byte(body)) // never fails
	return hex.EncodeToString(mac.Sum(nil))
}

// authenticate decides about a whole request.
func authenticate(token Token, r *http.Request) error {
	verify, err := token.Authenticate(r.Header)
	if verify != nil {
		return verify(r.Body)
	}
	return err
}

func TestAuthenticate(t *testing.T) {
	const body = `{"ref":"refs/heads/main"}`
	token := tokenOf(t, secret)
	sha256 := func(secret, body string) string { return sign(algorithms["sha256"], secret, body) }
	right := sha256(secret, body)
	basic := func(user, password string) http.Header {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.SetBasicAuth(user, password)
		return r.Header
	}
	one := func(name, value string) http.Header { return http.Header{name: {value}} }
	for reason, c := range map[string]struct {
		header http.Header
		want   error
	}{
		"GitHub":                            {one("X-Hub-Signature-256", "sha256="+right), nil},
		"GitHub sends SHA-1 beside it":      {http.Header{"X-Hub-Signature-256": {"sha256=" + right}, "X-Hub-Signature": {"sha1=" + sign(sha1.New, secret, body)}}, nil},
		"Bitbucket":                         {one("X-Hub-Signature", "sha256="+right), nil},
		"Gitea":                             {one("X-Gitea-Signature", right), nil},
		"Forgejo":                           {one("X-Forgejo-Signature", right), nil},
		"Gogs":                              {one("X-Gogs-Signature", right), nil},
		"a script, SHA-256":                 {one("X-Signature", "sha256="+right), nil},
		"a script, SHA-384":                 {one("X-Signature", "sha384="+sign(algorithms["sha384"], secret, body)), nil},
		"a script, SHA-512":                 {one("X-Signature", "sha512="+sign(algorithms["sha512"], secret, body)), nil},
		"GitLab":                            {one("X-Gitlab-Token", secret), nil},
		"Azure DevOps":                      {basic("azure", secret), nil},
		"Azure DevOps without a user":       {basic("", secret), nil},
		"Gitea sends the form of GitHub":    {http.Header{"X-Gitea-Signature": {right}, "X-Hub-Signature-256": {"sha256=" + right}}, nil},
		"one that is right is enough":       {http.Header{"X-Gitea-Signature": {sha256("another", body)}, "X-Signature": {"sha256=" + right}}, nil},
		"upper case":                        {one("X-Hub-Signature-256", "sha256="+strings.ToUpper(right)), nil},
		"nothing":                           {http.Header{}, ErrUnsigned},
		"another token":                     {one("X-Hub-Signature-256", "sha256="+sha256("another-token-of-bytes", body)), ErrWrong},
		"of another body":                   {one("X-Hub-Signature-256", "sha256="+sha256(secret, body+" ")), ErrWrong},
		"SHA-1 alone":                       {one("X-Hub-Signature", "sha1="+sign(sha1.New, secret, body)), ErrWrong},
		"SHA-1 in the place of SHA-256":     {one("X-Hub-Signature-256", "sha1="+sign(sha1.New, secret, body)), ErrWrong},
		"an algorithm that there is not":    {one("X-Signature", "none="+right), ErrWrong},
		"SHA-256 that says SHA-512":         {one("X-Signature", "sha512="+right), ErrWrong},
		"no algorithm where one is due":     {one("X-Hub-Signature-256", right), ErrWrong},
		"an algorithm where none is due":    {one("X-Gitea-Signature", "sha256="+right), ErrWrong},
		"half of a signature":               {one("X-Hub-Signature-256", "sha256="+right[:32]), ErrWrong},
		"an empty signature":                {one("X-Hub-Signature-256", "sha256="), ErrWrong},
		"an empty header":                   {one("X-Gitea-Signature", ""), ErrWrong},
		"no hexadecimal digits":             {one("X-Gitea-Signature", strings.Repeat("z", 64)), ErrWrong},
		"twice, and right":                  {http.Header{"X-Gitea-Signature": {right, right}}, ErrWrong},
		"another token of GitLab":           {one("X-Gitlab-Token", secret+"x"), ErrWrong},
		"the beginning of it":               {one("X-Gitlab-Token", secret[:16]), ErrWrong},
		"an empty token":                    {one("X-Gitlab-Token", ""), ErrWrong},
		"two tokens":                        {http.Header{"X-Gitlab-Token": {secret, secret}}, ErrWrong},
		"another password":                  {basic("azure", "another"), ErrWrong},
		"the token as the user":             {basic(secret, ""), ErrWrong},
		"another kind of login":             {one("Authorization", "Bearer "+secret), ErrWrong},
		"a login that is no base64":         {one("Authorization", "Basic !!"), ErrWrong},
		"two logins":                        {http.Header{"Authorization": {basic("", secret).Get("Authorization"), "Basic eDp4"}}, ErrWrong},
		"a wrong token, a right signature":  {http.Header{"X-Gitlab-Token": {"no"}, "X-Signature": {"sha256=" + right}}, nil},
		"the name of the header, otherwise": {http.Header{"X-Hub-Signature-512": {"sha512=" + right}}, ErrUnsigned},
	} {
		r := httptest.NewRequest(http.MethodPost, "/hook/x", strings.NewReader(body))
		r.Header = c.header
		if err := authenticate(token, r); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", reason, err, c.want)
		}
	}
}

// The example of GitHub's documentation.
func TestSignatureOfGitHub(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("Hello, World!"))
	r.Header.Set("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
	if err := authenticate(tokenOf(t, "It's a Secret to Everybody"), r); err != nil {
		t.Error(err)
	}
}

// What is refused by its header costs no reading.
func TestBodiesAreReadForSignaturesAlone(t *testing.T) {
	token := tokenOf(t, secret)
	broken := errors.New("broken off")
	for reason, c := range map[string]struct {
		name, value string
		want        error
	}{
		"no signature":       {"X-Other", "1", ErrUnsigned},
		"none that is one":   {"X-Hub-Signature-256", "sha256=1", ErrWrong},
		"a wrong token":      {"X-Gitlab-Token", "1", ErrWrong},
		"a right token":      {"X-Gitlab-Token", secret, nil},
		"it could be signed": {"X-Gitea-Signature", strings.Repeat("0", 64), broken},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(broken))
		r.Header.Set(c.name, c.value)
		if err := authenticate(token, r); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", reason, err, c.want)
		}
	}
}

func TestParseToken(t *testing.T) {
	for reason, c := range map[string]struct {
		kind, token string
		valid       bool
	}{
		"as it should be":                {v1.WebhookSecretType, secret, true},
		"from a file, with its line end": {v1.WebhookSecretType, secret + "\n", true},
		"the shortest":                   {v1.WebhookSecretType, strings.Repeat("x", MinTokenLength), true},
		"one byte fewer":                 {v1.WebhookSecretType, strings.Repeat("x", MinTokenLength-1), false},
		"blanks do not make it long":     {v1.WebhookSecretType, "x" + strings.Repeat(" ", MinTokenLength), false},
		"none":                           {v1.WebhookSecretType, "", false},
		"of another type":                {"Opaque", secret, false},
		"of no type":                     {"", secret, false},
	} {
		_, err := ParseToken(c.kind, map[string][]byte{TokenKey: []byte(c.token)})
		if (err == nil) != c.valid || err != nil && !errors.Is(err, source.ErrCredential) {
			t.Errorf("%s: %v", reason, err)
		}
		if err != nil && c.token != "" && strings.Contains(err.Error()+source.Hint(err), c.token) {
			t.Errorf("%s: the token is in the error: %v", reason, err)
		}
	}
}

// Each token and each source have a path of their own, always the same.
func TestPath(t *testing.T) {
	paths := map[string]bool{}
	for _, secret := range []string{secret, secret + "2"} {
		for _, name := range []string{"a", "b"} {
			token := tokenOf(t, secret)
			path := token.Path(name)
			if paths[path] || path != tokenOf(t, secret+"\n").Path(name) || !token.IsPath(path, name) || token.IsPath(path, "c") {
				t.Errorf("%s of %s is not its own path alone", path, name)
			}
			if rest, ok := strings.CutPrefix(path, PathPrefix); !ok || len(rest) != 64 {
				t.Errorf("path is %s", path)
			}
			paths[path] = true
		}
	}
}

// The path of a webhook is public, and no signature of anything by the token: nobody can
// send a body that it signs.
func TestPathIsNoSignature(t *testing.T) {
	token := tokenOf(t, secret)
	path := token.Path("pools")
	public := strings.TrimPrefix(path, PathPrefix)
	for _, body := range []string{"pools", "nodepools webhook\x00pools", "nodepools webhook path", "nodepools webhook path\x00pools", path, ""} {
		for _, header := range []string{"X-Hub-Signature-256", "X-Signature"} {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.Header.Set(header, "sha256="+public)
			if err := authenticate(token, r); err == nil {
				t.Errorf("who knows the path signs %q as %s", body, header)
			}
		}
	}
}

func TestTokenIsNotPrinted(t *testing.T) {
	token := tokenOf(t, secret)
	for _, format := range []string{"%v", "%s", "%+v", "%#v", "%q"} {
		if text := fmt.Sprintf(format, token); strings.Contains(text, secret) {
			t.Errorf("%s prints %s", format, text)
		}
	}
	if text := fmt.Sprintf("%+v", struct{ Token Token }{token}); strings.Contains(text, secret) {
		t.Errorf("within another: %s", text)
	}
}

// FuzzAuthenticate holds requests of strangers to what must be true of any: who does not
// know the token is not let in, and nothing panics.
func FuzzAuthenticate(f *testing.F) {
	for _, form := range forms {
		f.Add(form.header, "sha256="+strings.Repeat("0", 64), []byte("body"))
		f.Add(form.header, strings.Repeat("0", 64), []byte(""))
	}
	f.Add(gitLabToken, "token", []byte{})
	f.Add("Authorization", "Basic eDp4", []byte{})
	f.Add("authorization", "Basic ", []byte{})
	token := tokenOf(f, secret)
	f.Fuzz(func(t *testing.T, name, value string, body []byte) {
		if strings.Contains(value, secret) {
			t.Skip("it is known")
		}
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set(name, value)
		err := authenticate(token, r)
		if !errors.Is(err, ErrUnsigned) && !errors.Is(err, ErrWrong) {
			t.Fatalf("%s: %q of %q is let in: %v", name, value, body, err)
		}
		// And who does know it is, whatever is in the body.
		r = httptest.NewRequest(http.MethodPost, "/", io.NopCloser(bytes.NewReader(body)))
		r.Header.Set("X-Signature", "sha512="+sign(algorithms["sha512"], secret, string(body)))
		if err := authenticate(token, r); err != nil {
			t.Fatalf("a signed body is refused: %v", err)
		}
	})
}
