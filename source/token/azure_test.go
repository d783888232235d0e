package token

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/testdata/secrets"
)

// A token of Azure DevOps opens repositories there, whatever form their URLs have.
func TestAzure(t *testing.T) {
	w := newWorld(t)
	const url = "https://dev.azure.com/acme/my%20project/_git/pools"
	issuer, err := Azure(w.getenv, url)
	if err != nil {
		t.Fatal(err)
	}
	token, err := issuer.Issue(t.Context(), w.repository(url).Ask, w.clock.Now())
	if err != nil {
		t.Fatalf("%v; %s", err, source.Hint(err))
	}
	if status := w.opens(token, url); status != http.StatusOK {
		t.Errorf("the repository answers with %d", status)
	}
	if !token.fresh(w.clock.Now().Add(55*time.Minute-time.Second)) || token.fresh(w.clock.Now().Add(55*time.Minute)) {
		t.Errorf("a token of an hour expires at %s", token.expires)
	}
	// The projected token is read each time: another one is another identity.
	if err := os.WriteFile(w.env["AZURE_FEDERATED_TOKEN_FILE"], []byte("renewed"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Azure(w.getenv, url)
	if err != nil || again.Identity() == issuer.Identity() {
		t.Errorf("the renewed token is not noticed; %v", err)
	}
}

// Nobody who writes a source has the identity of the controller sent to a host of their
// own.
func TestIdentityIsBoundToItsCloud(t *testing.T) {
	w := newWorld(t)
	for url, provider := range map[string]string{
		"https://dev.azure.com/acme/p/_git/pools":                                      "azure",
		"https://acme.visualstudio.com/p/_git/pools":                                   "azure",
		"https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/pools":             "aws",
		"https://git-codecommit.us-gov-west-1.amazonaws.com/v1/repos/pools":            "aws",
		"https://git-codecommit.cn-north-1.amazonaws.com.cn/v1/repos/pools":            "aws",
		"https://git-codecommit.eu-central-1.amazonaws.com:8443/v1/repos/pools":        "",
		"http://git-codecommit.eu-central-1.amazonaws.com/v1/repos/pools":              "",
		"https://git-codecommit.eu-central-1.amazonaws.com.example.com/v1/repos/pools": "",
		"https://git-codecommit.eu-central-1.elb.amazonaws.com/v1/repos/pools":         "",
		"https://git-codecommit.evil.amazonaws.com/v1/repos/pools":                     "",
		"https://evil.git-codecommit.eu-central-1.amazonaws.com/v1/repos/pools":        "",
		"https://git-codecommit.eu-central-1.amazonaws.com@evil.example/v1/repos/x":    "",
		"https://git-codecommit_eu-central-1.amazonaws.com/v1/repos/pools":             "",
		"http://dev.azure.com/acme/p/_git/pools":                                       "",
		"ssh://git@ssh.dev.azure.com/v3/acme/p/pools":                                  "",
		"https://dev.azure.com.evil.example/acme/p/_git/pools":                         "",
		"https://dev.azure.com:8443/acme/p/_git/pools":                                 "",
		"https://dev.azure.com@evil.example/acme/p/_git/pools":                         "",
		"https://evil.example/dev.azure.com/":                                          "",
		"https://evil.example/#dev.azure.com":                                          "",
		"https://evil.dev.azure.com/acme/p/_git/pools":                                 "",
		"https://a.evil.visualstudio.com/p/_git/pools":                                 "",
		"https://visualstudio.com/p/_git/pools":                                        "",
		"https://evilvisualstudio.com/p/_git/pools":                                    "",
		"https://acme.visualstudio.com.evil.example/p/_git/pools":                      "",
		"https://169.254.169.254/metadata":                                             "",
		"https://git.example.com/acme/pools":                                           "",
		"":                                                                             "",
		"://":                                                                          "",
	} {
		for asked, issuerOf := range map[string]func() (Issuer, error){
			"azure": func() (Issuer, error) { return Azure(w.getenv, url) },
			"aws":   func() (Issuer, error) { return AWS(w.getenv, w.clock.Now, url) },
		} {
			_, err := issuerOf()
			if allowed := err == nil; allowed != (asked == provider) {
				t.Errorf("%s, as one of %s: %v", url, asked, err)
			}
			if err != nil {
				w.wantRefusal(err, source.ErrCredential, "is sent to ", "correct the URL")
			}
		}
	}
	if asked := w.Asked(); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}

// What is missing in the pod of the controller is named, with who has to put it there.
func TestEnvironmentOfIdentities(t *testing.T) {
	w := newWorld(t)
	gone := w.projected("x")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		provider   string
		env        map[string]string
		says, hint string
	}{
		"no webhook at Azure":    {"azure", map[string]string{"AZURE_CLIENT_ID": "", "AZURE_TENANT_ID": "", "AZURE_FEDERATED_TOKEN_FILE": ""}, "no AZURE_CLIENT_ID and no AZURE_TENANT_ID and no AZURE_FEDERATED_TOKEN_FILE", "azure.workload.identity/use=true"},
		"no client":              {"azure", map[string]string{"AZURE_CLIENT_ID": ""}, "no AZURE_CLIENT_ID in", "azure.workload.identity/use=true"},
		"a client that is none":  {"azure", map[string]string{"AZURE_CLIENT_ID": "a b"}, "AZURE_CLIENT_ID in the environment of the controller is no ID", "annotation"},
		"a tenant that is none":  {"azure", map[string]string{"AZURE_TENANT_ID": "../x"}, "AZURE_TENANT_ID in the environment of the controller is no ID", "annotation"},
		"authority over http":    {"azure", map[string]string{"AZURE_AUTHORITY_HOST": "http://login.microsoftonline.com/"}, "AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/"},
		"authority with a path":  {"azure", map[string]string{"AZURE_AUTHORITY_HOST": "https://h/x"}, "AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/"},
		"no file":                {"azure", map[string]string{"AZURE_FEDERATED_TOKEN_FILE": gone}, "file of AZURE_FEDERATED_TOKEN_FILE does not exist", "volume"},
		"a folder":               {"azure", map[string]string{"AZURE_FEDERATED_TOKEN_FILE": t.TempDir()}, "file of AZURE_FEDERATED_TOKEN_FILE has no token", "volume"},
		"an empty file":          {"azure", map[string]string{"AZURE_FEDERATED_TOKEN_FILE": w.projected("")}, "file of AZURE_FEDERATED_TOKEN_FILE has no token", "volume"},
		"a file of two lines":    {"aws", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": w.projected("a\nb")}, "file of AWS_WEB_IDENTITY_TOKEN_FILE has no token", "volume"},
		"a file without end":     {"aws", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/dev/zero"}, "file of AWS_WEB_IDENTITY_TOKEN_FILE has no token", "volume"},
		"no webhook at AWS":      {"aws", map[string]string{"AWS_ROLE_ARN": "", "AWS_WEB_IDENTITY_TOKEN_FILE": ""}, "no AWS_ROLE_ARN and no AWS_WEB_IDENTITY_TOKEN_FILE", "eks.amazonaws.com/role-arn"},
		"a role that is no role": {"aws", map[string]string{"AWS_ROLE_ARN": "nodepools"}, "AWS_ROLE_ARN in the environment of the controller is no ARN", "eks.amazonaws.com/role-arn"},
	} {
		w := &world{Server: w.Server, t: t, clock: w.clock, env: map[string]string{}}
		for _, each := range []string{"AZURE_CLIENT_ID", "AZURE_TENANT_ID"} {
			w.env[each] = "id"
		}
		file := w.projected("token")
		w.env["AZURE_FEDERATED_TOKEN_FILE"], w.env["AWS_WEB_IDENTITY_TOKEN_FILE"], w.env["AWS_ROLE_ARN"] = file, file, "arn:aws:iam::111122223333:role/a/b"
		for key, value := range c.env {
			w.env[key] = value
		}
		var err error
		if c.provider == "azure" {
			_, err = Azure(w.getenv, "https://dev.azure.com/acme/p/_git/pools")
		} else {
			_, err = AWS(w.getenv, w.clock.Now, "https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/pools")
		}
		w.wantRefusal(err, source.ErrCredential, c.says, c.hint)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestTroubleWithAzure(t *testing.T) {
	w := newWorld(t)
	secret := secrets.Of("server")
	number := func(code int) http.HandlerFunc {
		return says(http.StatusUnauthorized, map[string]string{"Date": w.clock.Now().Format(http.TimeFormat)}, fmt.Sprintf(`{"error": "invalid_client", "error_codes": [%d], "error_description": %q}`, code, secret))
	}
	for name, c := range map[string]struct {
		env        map[string]string
		wrong      func()
		fault      http.HandlerFunc
		kind       error
		says, hint string
	}{
		"another tenant":                {env: map[string]string{"AZURE_TENANT_ID": "other"}, kind: source.ErrToken, says: "no such tenant", hint: "tenant-id"},
		"another client":                {env: map[string]string{"AZURE_CLIENT_ID": "other"}, kind: source.ErrToken, says: "no such application", hint: "client-id"},
		"another ServiceAccount":        {wrong: func() { w.Azure.Assertion = "other" }, kind: source.ErrToken, says: "(AADSTS700213): no federated credential", hint: "system:serviceaccount:"},
		"projected token is past":       {fault: number(700024), kind: source.ErrToken, says: "projected token of the ServiceAccount has expired", hint: "kubelet renews"},
		"by the clock of this machine":  {fault: says(http.StatusUnauthorized, map[string]string{"Date": w.clock.Now().Add(-time.Hour).Format(http.TimeFormat)}, `{"error_codes": [700024]}`), kind: source.ErrToken, says: "which is 1h0m0s ahead of its own", hint: "clock"},
		"a number that we do not know":  {fault: number(123456), kind: source.ErrToken, says: "(AADSTS123456)", hint: "error codes of Microsoft Entra"},
		"no number":                     {fault: says(http.StatusBadRequest, nil, `{"error": "`+secret+`"}`), kind: source.ErrToken, says: "HTTP status 400"},
		"a token of another type":       {fault: says(http.StatusOK, nil, `{"token_type": "mac", "expires_in": 3599, "access_token": "`+secret+`"}`), kind: source.ErrServer, says: "no token that can be used"},
		"a token of two lines":          {fault: says(http.StatusOK, nil, `{"token_type": "Bearer", "expires_in": 3599, "access_token": "`+secret+`\r\nX: y"}`), kind: source.ErrServer, says: "no token that can be used"},
		"a token that is past":          {fault: says(http.StatusOK, nil, `{"token_type": "Bearer", "expires_in": 0, "access_token": "`+secret+`"}`), kind: source.ErrServer, says: "no token that can be used"},
		"a token that is no such thing": {fault: says(http.StatusOK, nil, `{"token_type": "Bearer", "expires_in": "soon", "access_token": 7}`), kind: source.ErrServer, says: "no token that can be used"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{Server: w.Server, t: t, clock: w.clock, proxy: w.proxy, env: map[string]string{"AZURE_FEDERATED_TOKEN_FILE": w.env["AZURE_FEDERATED_TOKEN_FILE"], "AZURE_CLIENT_ID": "client-1", "AZURE_TENANT_ID": "tenant-1"}}
			for key, value := range c.env {
				w.env[key] = value
			}
			before := w.Azure
			defer w.Change(func() { w.Azure, w.Fault = before, nil })
			w.Change(func() {
				if w.Fault = c.fault; c.wrong != nil {
					c.wrong()
				}
			})
			issuer, err := Azure(w.getenv, "https://dev.azure.com/acme/p/_git/pools")
			if err != nil {
				t.Fatal(err)
			}
			_, err = issuer.Issue(t.Context(), w.repository("https://dev.azure.com/acme/p/_git/pools").Ask, w.clock.Now())
			w.wantRefusal(err, c.kind, c.says, c.hint)
		})
	}
}
