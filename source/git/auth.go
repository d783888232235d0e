package git

import (
	"net/http"

	"golang.org/x/crypto/ssh"
)

// HTTPAuth is a credential for https.
type HTTPAuth interface {
	// SetAuth adds the credential to a request.
	SetAuth(request *http.Request)
}

// SSHAuth is a credential for ssh, and what is known of the server.
type SSHAuth interface {
	// ClientConfig says how to log in at an address, host and port, and which host
	// keys are the server's: without a HostKeyCallback nothing is asked. Without a User
	// it is that of the URL. An error of the callback that is a source.ErrHostKey says
	// why the key is not accepted.
	ClientConfig(address string) (*ssh.ClientConfig, error)
}
