package main

import "os"

// maxSilence is after how many seconds a connection is given up on which nothing comes: so
// many until the API server is asked whether it is still there, and so many for an answer.
// Left to itself, client-go takes 30 and 15. When the machine of an API server is lost, or
// what is between, nobody ends the connections that lead there: nodes that join wait until
// the controller does, though another API server would answer: 47 seconds with these, and
// 11 so. 10 seconds are less than the lease lasts.
var maxSilence = map[string]string{
	"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "5",
	"HTTP2_PING_TIMEOUT_SECONDS":      "5",
}

// boundSilence sets that, unless the user has set it. Connections made before go by what
// was set then.
func boundSilence() error {
	for name, seconds := range maxSilence {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, seconds); err != nil {
			return err
		}
	}
	return nil
}
