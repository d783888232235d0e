package apply

import "github.com/nodepools/nodepools/api/sanitize"

// maxBrief bounds the result of Brief, in bytes.
const maxBrief = 256

// Brief returns the text of an error for a status or an event: one sanitized
// line of bounded length. An error of the API server is in part text of others,
// such as of an admission webhook.
func Brief(err error) string { return sanitize.Clip(sanitize.Line(err.Error()), maxBrief) }
