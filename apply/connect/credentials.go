package connect

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// What a program prints comes in part from libraries that repeat what they were given,
// and from servers that say what they like. This file keeps credentials out of it.

// withoutUser takes a user and a password out of the address, where they would
// become part of every error, and gives them to the client as what they are.
func withoutUser(config *rest.Config) {
	address, err := url.Parse(config.Host)
	if err != nil || address.User == nil {
		return
	}
	if config.BearerToken == "" && config.BearerTokenFile == "" && config.Username == "" && config.ExecProvider == nil {
		config.Username = address.User.Username()
		config.Password, _ = address.User.Password()
	}
	address.User = nil
	config.Host = address.String()
}

// unechoed takes the credential of a request out of a refusal. Some proxies show
// the request that they refused, and errors of the library show the refusal.
type unechoed struct{ http.RoundTripper }

// maxRefusal bounds what is read of a refusal, in bytes. The library shows less.
const maxRefusal = 64 << 10

// RoundTrip implements [http.RoundTripper].
func (t unechoed) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	secrets := credentialsOf(request)
	if len(secrets) == 0 {
		return response, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	text := string(body)
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "...")
	}
	response.Body, response.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return response, nil
}

// WrappedRoundTripper lets the library close idle connections.
func (t unechoed) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// credentialsOf are those that a request carries, as they are sent and, of a
// password, in clear.
func credentialsOf(request *http.Request) []string {
	_, sent, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	secrets := []string{sent}
	if _, password, basic := request.BasicAuth(); basic {
		secrets = append(secrets, password)
	}
	return slices.DeleteFunc(secrets, func(secret string) bool { return secret == "" })
}
