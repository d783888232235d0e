package image

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// CertificatesModule is the module that the certificates of authorities come from. Its
// version is that of go.mod.
const CertificatesModule = "golang.org/x/crypto/x509roots/fallback"

// certificates returns the authorities that Mozilla trusts for servers, as PEM.
//
// They are in a file, and not in the program, so that they are what administrators
// expect: a file that is mounted into /etc/ssl/certs adds authorities, and
// SSL_CERT_FILE and SSL_CERT_DIR replace them.
//
// An authority that is trusted for what it has signed before a day and not for what
// came later is left out: a file cannot say so.
func certificates() []byte {
	var buffer bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// A bytes.Buffer takes all that is written to it.
			_ = pem.Encode(&buffer, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return buffer.Bytes()
}
