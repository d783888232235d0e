// Package connect makes the configuration of a connection to an API server, and says in
// words for whoever runs a command why it fails. Start with [Kubeconfig], which reads
// it as kubectl does, and [Explain].
package connect

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// Tuned takes the client's own rate limit away, which would only hide what the
// server's does, bounds how long a server that does not answer is waited for, and
// keeps credentials out of the errors of requests.
func Tuned(config *rest.Config) *rest.Config {
	config.QPS = -1
	config.Dial = dialing(maxSilence)
	withoutUser(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return unechoed{next} })
	return config
}
