package token

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nodepools/nodepools/source"
)

// The variables that the webhook of Azure's workload identity sets:
// https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html
const (
	azureClient    = "AZURE_CLIENT_ID"
	azureTenant    = "AZURE_TENANT_ID"
	azureFile      = "AZURE_FEDERATED_TOKEN_FILE"
	azureAuthority = "AZURE_AUTHORITY_HOST"

	azureWebhook = "the webhook of Azure workload identity sets it in pods that have the label azure.workload.identity/use=true: label the pods of the controller, annotate its ServiceAccount, and see that the webhook runs"

	// azureDevOps is the resource that tokens are for: Azure DevOps.
	azureDevOps = "499b84ac-1321-427f-aa17-267ca6975798/.default"
)

var (
	azureName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)
	// visualStudio are the hosts that organizations of Azure DevOps had before.
	visualStudio = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*\.visualstudio\.com$`)
)

// Azure issues tokens of Azure DevOps to the workload identity of the controller, whose
// projected token is exchanged for them:
// https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow#third-case-access-token-request-with-a-federated-credential
//
// They go to Azure DevOps, which has no other hosts than these, and nowhere else.
func Azure(environment Environment, repository string) (Issuer, error) {
	u, err := url.Parse(repository)
	if err != nil || !isAzure(u) {
		return nil, wrongHost("dev.azure.com and <organization>.visualstudio.com")
	}
	values, err := environment.variables(azureWebhook, azureClient, azureTenant, azureFile)
	if err != nil {
		return nil, err
	}
	a := &azure{client: values[0], tenant: values[1]}
	for i, name := range []string{azureClient, azureTenant} {
		if len(values[i]) > 128 || !azureName.MatchString(values[i]) {
			return nil, source.NewError(source.ErrCredential, "", name+" in the environment of the controller is no ID").WithHint("correct the annotation of the ServiceAccount that it comes from")
		}
	}
	if a.authority, err = parseAuthority(environment(azureAuthority)); err != nil {
		return nil, err
	}
	a.assertion, err = projected(azureFile, values[2])
	return a, err
}

// isAzure reports whether a token of Azure DevOps may be sent to a URL.
func isAzure(u *url.URL) bool {
	host := strings.ToLower(u.Host)
	return u.Scheme == "https" && len(host) == len(u.Host) && (host == "dev.azure.com" || visualStudio.MatchString(host))
}

// parseAuthority reads where tokens are issued. It is the administrator's, as the
// environment is.
func parseAuthority(text string) (string, error) {
	if text == "" {
		return "https://login.microsoftonline.com", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", source.NewError(source.ErrCredential, "", azureAuthority+" in the environment of the controller is no URL of https with a host alone").WithHint("it is https://login.microsoftonline.com/ but for clouds of their own")
	}
	return "https://" + u.Host, nil
}

type azure struct {
	client, tenant, authority string
	assertion                 string
}

func (a *azure) Identity() Identity {
	return identity("azure", a.authority, a.tenant, a.client, a.assertion)
}

func (a *azure) Issue(ctx context.Context, send Send, now time.Time) (*Token, error) {
	form := url.Values{
		"client_id": {a.client}, "grant_type": {"client_credentials"}, "scope": {azureDevOps},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {a.assertion},
	}
	request, err := formRequest(ctx, a.authority+"/"+a.tenant+"/oauth2/v2.0/token", form)
	if err != nil {
		return nil, err
	}
	answer, err := ask(send, request, now)
	if err != nil {
		return nil, err
	}
	if !answer.ok() {
		return nil, a.explain(answer, now)
	}
	var issued struct {
		Type    string `json:"token_type"`
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
	}
	if err := answer.decode(&issued); err != nil || !usable(issued.Token) || !strings.EqualFold(issued.Type, "Bearer") || issued.Seconds <= 0 {
		return nil, unusable(answer.server)
	}
	lasts := time.Duration(min(issued.Seconds, int64(maxLifetime/time.Second))) * time.Second
	return &Token{issued: now, expires: now.Add(lasts), set: func(request *http.Request) {
		if isAzure(request.URL) {
			request.Header.Set("Authorization", "Bearer "+issued.Token)
		}
	}}, nil
}

func formRequest(ctx context.Context, to string, form url.Values) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, source.NewError(source.ErrCredential, "", "the server of tokens has no URL that can be used")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json, text/xml")
	return request, nil
}

// explain says why there is no token. The numbers are those of
// https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes
func (a *azure) explain(answer *answer, now time.Time) error {
	if busy := answer.busy(now); busy != nil {
		return busy
	}
	var said struct {
		Codes []int `json:"error_codes"`
	}
	if err := answer.decode(&said); err != nil || len(said.Codes) == 0 {
		return answer.refusal("check the application of " + azureClient + " and its federated credential")
	}
	code := said.Codes[0]
	with := func(text, hint string) error {
		return refused(fmt.Sprintf("%s issues no token (AADSTS%d): %s", answer.server, code, text), hint)
	}
	switch code {
	case 700024:
		if clock := answer.clock(); clock != nil {
			return clock
		}
		return with("the projected token of the ServiceAccount has expired, or is not valid yet", "see whether the kubelet renews the file of "+azureFile+", and correct the clock of the node")
	case 70021, 700211, 700212, 700213, 700214:
		return with("no federated credential of the application fits the ServiceAccount of the controller", "compare issuer, subject and audience of the federated credential with those of the cluster: the subject is system:serviceaccount:<namespace>:nodepools")
	case 700016:
		return with("there is no such application in the tenant", "correct the annotation azure.workload.identity/client-id of the ServiceAccount")
	case 90002, 900021, 900023:
		return with("there is no such tenant", "correct "+azureTenant+": the annotation azure.workload.identity/tenant-id of the ServiceAccount, or the setting of the webhook")
	}
	return with("the identity is refused", "look the number up in the error codes of Microsoft Entra")
}
