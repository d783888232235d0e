package token

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/auth"
)

// GitHub issues tokens of an installation of a GitHub App:
// https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/authenticating-as-a-github-app-installation
//
// A token reads the contents of one repository, that of the URL, and nothing else. It is
// asked for where the App is, and goes to the URLs that the prefix of its Secret covers:
// the caller checks that.
func GitHub(app *auth.App, repository string) (Issuer, error) {
	u, err := url.Parse(repository)
	if err != nil || u.Scheme != "https" {
		return nil, source.NewError(source.ErrCredential, "", auth.AppID+" is for https, and the URL of the source is another one")
	}
	g := &gitHub{app: app, host: u.Host, owner: app.Owner}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(path) == 2 {
		g.repository = strings.TrimSuffix(path[1], ".git")
	}
	if app.Installation == "" && app.Owner == "" {
		g.owner = path[0]
		if g.owner == "" || url.PathEscape(g.owner) != g.owner {
			return nil, source.NewError(source.ErrCredential, "", "the key "+auth.AppInstallation+" is missing").
				WithHint("add it, or " + auth.AppOwner + ": the URL of the source does not begin with an owner")
		}
	}
	return g, nil
}

type gitHub struct {
	app *auth.App
	// host is that of the repository.
	host string
	// owner is whose installation it is, where its number is not known.
	owner string
	// repository is the name of the one that is read; empty where the URL does not say.
	repository string
}

func (g *gitHub) Identity() Identity {
	return identity("github", g.app.API, g.app.ID, g.app.Installation, g.owner, g.host, g.repository, string(g.app.PublicKey()))
}

func (g *gitHub) Issue(ctx context.Context, send Send, now time.Time) (*Token, error) {
	installation := g.app.Installation
	if installation == "" {
		var err error
		if installation, err = g.find(ctx, send, now); err != nil {
			return nil, err
		}
	}
	wanted := map[string]any{"permissions": map[string]string{"contents": "read"}}
	if g.repository != "" {
		wanted["repositories"] = []string{g.repository}
	}
	body, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	a, err := g.ask(ctx, send, now, http.MethodPost, "/app/installations/"+installation+"/access_tokens", body)
	if err != nil {
		return nil, err
	}
	if !a.ok() {
		return nil, g.explain(a, now)
	}
	var issued struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if err := a.decode(&issued); err != nil || !usable(issued.Token) || !issued.Expires.After(now) {
		return nil, unusable(a.server)
	}
	return &Token{issued: now, expires: bounded(issued.Expires, now), set: func(request *http.Request) {
		if request.URL.Host == g.host {
			request.SetBasicAuth("x-access-token", issued.Token)
		}
	}}, nil
}

// find looks the installation up that an organization has, or a user.
func (g *gitHub) find(ctx context.Context, send Send, now time.Time) (string, error) {
	for _, kind := range []string{"orgs", "users"} {
		a, err := g.ask(ctx, send, now, http.MethodGet, "/"+kind+"/"+g.owner+"/installation", nil)
		if err != nil {
			return "", err
		}
		switch {
		case a.status == http.StatusNotFound && !a.says("integration not found"):
			continue
		case !a.ok():
			return "", g.explain(a, now)
		}
		var found struct {
			ID int64 `json:"id"`
		}
		if err := a.decode(&found); err != nil || found.ID <= 0 {
			return "", unusable(a.server)
		}
		return strconv.FormatInt(found.ID, 10), nil
	}
	if g.app.Owner == "" {
		return "", refused("the GitHub App is not installed for "+g.owner+", where the URL of the source begins", "install it there, or give the number of another installation as "+auth.AppInstallation)
	}
	return "", refused("the GitHub App is not installed for "+auth.AppOwner, "install it there, or correct the key")
}

// ask sends a request as the App.
func (g *gitHub) ask(ctx context.Context, send Send, now time.Time, method, path string, body []byte) (*answer, error) {
	token, err := g.jwt(now)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, g.app.API+path, bytes.NewReader(body))
	if err != nil {
		return nil, source.NewError(source.ErrCredential, "", auth.AppBaseURL+" is no URL of https")
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return ask(send, request, now)
}

// The JWT of an App begins a minute back, as GitHub advises for clocks that differ, and
// lasts less than the ten minutes that GitHub allows.
const jwtBack, jwtLife = time.Minute, 9 * time.Minute

// jwt signs who asks: https://www.rfc-editor.org/rfc/rfc7519
func (g *gitHub) jwt(now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"iat": now.Add(-jwtBack).Unix(), "exp": now.Add(jwtLife).Unix(), "iss": g.app.ID})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	signature, err := g.app.Sign([]byte(text))
	if err != nil {
		return "", source.NewError(source.ErrCredential, "", auth.AppPrivateKey+" cannot sign")
	}
	return text + "." + encode(signature), nil
}

// explain says why there is no token: GitHub says it in words, beside a status.
func (g *gitHub) explain(a *answer, now time.Time) error {
	elsewhere := ""
	if host := strings.ToLower(g.host); a.server == "api.github.com" && host != "github.com" {
		elsewhere = "; for a GitHub at another host than github.com, give the URL of its API as " + auth.AppBaseURL
	}
	if busy := a.busy(now); busy != nil {
		return busy
	}
	switch {
	case a.status == http.StatusUnauthorized:
		if clock := a.clock(); clock != nil {
			return clock
		}
		if a.says("expiration time", "'exp'", "issued at", "'iat'") {
			return refused(a.server+" does not take the time that the JWT has", "correct the clock of the node that the controller runs on")
		}
		return refused(fmt.Sprintf("%s does not take what is signed with %s as that of the GitHub App", a.server, auth.AppPrivateKey),
			"check that the private key is one of this App, and has not been deleted there, and "+auth.AppID+elsewhere)
	case a.status == http.StatusForbidden && a.says("suspended"):
		return refused("the installation of the GitHub App is suspended", "have the owner of the repositories unsuspend it, in the settings of the installation")
	case a.status == http.StatusNotFound && a.says("integration not found"):
		return refused(a.server+" has no GitHub App with this "+auth.AppID, "correct "+auth.AppID+elsewhere)
	case a.status == http.StatusNotFound:
		return refused("the GitHub App has no such installation", "correct "+auth.AppInstallation+", or install the App again if it was removed"+elsewhere)
	case a.status == http.StatusUnprocessableEntity:
		return refused("the installation of the GitHub App may not read the contents of the repository "+g.repository, "add the repository to the installation, and Contents: Read-only to the permissions of the App, and have the owner accept them")
	}
	return a.refusal("check the GitHub App and its installation")
}
