package issuers

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// App is a GitHub App with one installation.
type App struct {
	ID           string
	Key          *rsa.PublicKey
	Installation int64
	// Owner is whose installation it is, of a kind: orgs or users.
	Owner, Kind  string
	Repositories []string
	Suspended    bool
}

// serveGitHub is the part of GitHub's API that Apps use. The lock is held.
func (s *Server) serveGitHub(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, message string) { answerJSON(w, status, map[string]string{"message": message}) }
	switch status, err := s.signed(r); {
	case err != nil:
		refuse(status, err.Error())
		return
	case r.Header.Get("Accept") != "application/vnd.github+json", r.Header.Get("X-GitHub-Api-Version") == "":
		refuse(http.StatusBadRequest, "the version of the API is missing")
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /" + s.App.Kind + "/" + s.App.Owner + "/installation":
		answerJSON(w, http.StatusOK, map[string]any{"id": s.App.Installation})
	case fmt.Sprintf("POST /app/installations/%d/access_tokens", s.App.Installation):
		s.issueAccessToken(w, r, refuse)
	default:
		refuse(http.StatusNotFound, "Not Found")
	}
}

func (s *Server) issueAccessToken(w http.ResponseWriter, r *http.Request, refuse func(int, string)) {
	if s.App.Suspended {
		refuse(http.StatusForbidden, "This installation has been suspended")
		return
	}
	var wanted struct {
		Repositories []string          `json:"repositories"`
		Permissions  map[string]string `json:"permissions"`
	}
	err := json.NewDecoder(r.Body).Decode(&wanted)
	switch {
	case err != nil:
		refuse(http.StatusBadRequest, "Problems parsing JSON")
		return
	case len(wanted.Permissions) != 1 || wanted.Permissions["contents"] != "read" || len(wanted.Repositories) > 1:
		refuse(http.StatusTeapot, "more is asked for than to read the contents of one repository")
		return
	}
	repository := strings.Join(wanted.Repositories, "")
	if repository != "" && !slices.Contains(s.App.Repositories, repository) {
		refuse(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
		return
	}
	token, expires := s.keep("ghs_", repository, "")
	answerJSON(w, http.StatusCreated, map[string]any{"token": token, "expires_at": expires.UTC().Format(time.RFC3339Nano)})
}

// signed verifies the JWT of a request.
func (s *Server) signed(r *http.Request) (status int, err error) {
	undecodable := errors.New("A JSON web token could not be decoded") //nolint:revive,staticcheck // GitHub's words
	text, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(text, ".")
	if !is || len(parts) != 3 {
		return http.StatusUnauthorized, undecodable
	}
	var decoded [3][]byte
	for i, part := range parts {
		if decoded[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return http.StatusUnauthorized, undecodable
		}
	}
	var header struct{ Alg, Typ string }
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	if json.Unmarshal(decoded[0], &header) != nil || json.Unmarshal(decoded[1], &claims) != nil || header.Alg != "RS256" || header.Typ != "JWT" {
		return http.StatusUnauthorized, undecodable
	}
	if claims.Iss != s.App.ID {
		return http.StatusNotFound, errors.New("Integration not found") //nolint:revive,staticcheck // GitHub's words
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now := s.Now().Unix()
	switch {
	case rsa.VerifyPKCS1v15(s.App.Key, crypto.SHA256, sum[:], decoded[2]) != nil:
		return http.StatusUnauthorized, undecodable
	case claims.Iat > now:
		return http.StatusUnauthorized, errors.New("'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case claims.Exp > now+600:
		return http.StatusUnauthorized, errors.New("'Expiration time' claim ('exp') is too far in the future")
	case claims.Exp <= now:
		return http.StatusUnauthorized, errors.New("'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	}
	return http.StatusOK, nil
}

// takesAccessToken reports whether a request for a repository has a token for it. The
// lock is held.
func (s *Server) takesAccessToken(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	token := s.known(password)
	if !ok || user != "x-access-token" || token == nil {
		return false
	}
	return token.repository == "" || strings.Contains(r.URL.Path, "/"+token.repository+"/") || strings.Contains(r.URL.Path, "/"+token.repository+".git/")
}
