package apply

import "github.com/nodepools/nodepools/api/sanitize"

// maxBrief bounds the text of Brief, in bytes.
const maxBrief = 256

// Brief is an error as it may stand in a status or an event: one line of bounded
// length, without what is not seen or turns what is around it. An error of the API
// server is in part what others say to it: an admission webhook for one.
func Brief(err error) string { return sanitize.Clip(sanitize.Line(err.Error()), maxBrief) }
