package push

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"unicode"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// secrets gives out the credentials of a keychain, and knows afterwards what must not
// be printed.
type secrets struct {
	keychain authn.Keychain
	known    []string
	failed   bool
}

// Resolve implements authn.Keychain.
func (s *secrets) Resolve(resource authn.Resource) (authn.Authenticator, error) {
	authenticator, err := authn.Resolve(context.Background(), s.keychain, resource)
	if err != nil {
		s.failed = true
		return nil, err
	}
	config, err := authn.Authorization(context.Background(), authenticator)
	if err != nil {
		s.failed = true
		return nil, err
	}
	basic := ""
	if config.Password != "" {
		basic = base64.StdEncoding.EncodeToString([]byte(config.Username + ":" + config.Password))
	}
	for _, secret := range []string{config.Password, config.Auth, basic, config.IdentityToken, config.RegistryToken} {
		if secret != "" {
			s.known = append(s.known, secret)
		}
	}
	return authenticator, nil
}

// explain returns what went wrong, in our words: a registry may answer with anything,
// the password that it was sent included.
func (s *secrets) explain(ctx context.Context, err error, tag name.Tag, dir string) error {
	registry := tag.RegistryStr()
	var (
		answer *transport.Error
		dial   *net.OpError
		plain  *plainError
		tlsErr *tls.CertificateVerificationError
		path   *os.PathError
	)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("registry %s has not taken the image in %s", registry, Timeout)
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case s.failed:
		return fmt.Errorf("the credentials of %s cannot be read\nsee whether docker login %s works: the program that keeps them may be missing", registry, registry)
	case errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the image in %s is not complete\nrun make image again", dir)
	// Before what is answered: who does not answer by TLS in time is asked without, and a
	// server of TLS answers to that, too.
	case errors.As(err, &tlsErr):
		return fmt.Errorf("registry %s has a certificate that is not trusted: %s\nname the file of its authority in SSL_CERT_FILE", registry, s.clean(tlsErr.Err.Error()))
	case errors.As(err, &answer):
		return s.answered(answer, tag)
	case errors.As(err, &dial):
		return fmt.Errorf("registry %s cannot be reached: %s\ncheck its name, the network, and HTTPS_PROXY if there is a proxy", registry, s.clean(reason(dial)))
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("registry %s would be asked without TLS, and password and image could be read on the way\nINSECURE=1 does it all the same", registry)
	default:
		return fmt.Errorf("cannot push to %s: %s", registry, s.clean(err.Error()))
	}
}

// reason leaves out the addresses: the name of the registry says more.
func reason(err *net.OpError) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return dns.Err
	}
	return err.Err.Error()
}

func (s *secrets) answered(answer *transport.Error, tag name.Tag) error {
	status := fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	switch answer.StatusCode {
	case http.StatusUnauthorized:
		if len(s.known) == 0 {
			return fmt.Errorf("registry %s wants a login (%s)\nrun docker login %s, or put the login into ~/.docker/config.json", tag.RegistryStr(), status, tag.RegistryStr())
		}
		return fmt.Errorf("registry %s does not take the login in ~/.docker/config.json (%s)\nrun docker login %s", tag.RegistryStr(), status, tag.RegistryStr())
	case http.StatusForbidden:
		return fmt.Errorf("registry %s does not let this login push to %s (%s)\ncheck its rights, and that the repository exists", tag.RegistryStr(), tag.RepositoryStr(), status)
	case http.StatusNotFound:
		return fmt.Errorf("registry %s has no %s (%s)\ncheck the name; some registries want a repository to be created before", tag.RegistryStr(), tag.RepositoryStr(), status)
	case http.StatusMethodNotAllowed:
		return fmt.Errorf("registry %s takes no images (%s)\ncheck the name: a mirror is only read", tag.RegistryStr(), status)
	default:
		return fmt.Errorf("registry %s answers %s", tag.RegistryStr(), status)
	}
}

const maxText = 300

// clean makes a text of libraries, in which there may be some of a registry, fit for a
// terminal, and takes secrets out of it.
func (s *secrets) clean(text string) string {
	for _, secret := range s.known {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxText {
		text = string(runes[:maxText]) + "…"
	}
	return text
}
