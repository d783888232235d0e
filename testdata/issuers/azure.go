package issuers

import (
	"net/http"
	"strings"
)

// AzureIdentity is an application in a tenant of Microsoft Entra, and the token of a
// ServiceAccount that a federated credential of it fits.
type AzureIdentity struct{ Tenant, Client, Assertion string }

// refuseEntra answers as Entra does, with a number.
func refuseEntra(w http.ResponseWriter, code int, description string) {
	answerJSON(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_codes": []int{code}, "error_description": description})
}

// serveEntra issues tokens to a federated credential. The lock is held.
func (s *Server) serveEntra(w http.ResponseWriter, r *http.Request) {
	wrong := func(field string) {
		answerJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_codes": []int{900144}, "error_description": field})
	}
	if r.URL.Path != "/"+s.Azure.Tenant+"/oauth2/v2.0/token" {
		answerJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_codes": []int{90002}})
		return
	}
	for field, want := range map[string]string{
		"grant_type": "client_credentials", "scope": "499b84ac-1321-427f-aa17-267ca6975798/.default",
		"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
	} {
		if r.Method != http.MethodPost || r.PostFormValue(field) != want {
			wrong(field)
			return
		}
	}
	switch {
	case r.PostFormValue("client_id") != s.Azure.Client:
		refuseEntra(w, 700016, "no such application "+r.PostFormValue("client_id"))
	case r.PostFormValue("client_assertion") != s.Azure.Assertion:
		refuseEntra(w, 700213, "no matching federated identity for "+r.PostFormValue("client_assertion"))
	default:
		token, _ := s.keep("eyJ0eXAi.", "", "")
		answerJSON(w, http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": int64(s.Life.Seconds()), "access_token": token})
	}
}

// takesBearer reports whether a request has a token. The lock is held.
func (s *Server) takesBearer(r *http.Request) bool {
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return is && s.known(token) != nil
}
