package nodecache

import "sync"

// sharedTexts are the labels, annotations and taints of all cached nodes. Nearly
// all of their keys and most of their values stand on thousands of nodes, and each
// node comes from the API server with a copy of its own.
var sharedTexts texts

// texts hands out one copy of texts that are equal. It remembers no more than
// textsSize bytes: then it starts anew, so that what stands on one node only, or
// on nodes that are gone, is not kept for good. A text that is on many nodes then
// has one copy for each time that this happened between them. It may be used by
// many goroutines at once.
type texts struct {
	mu    sync.Mutex
	known map[string]string
	size  int
}

const textsSize = 512 << 10

// one returns the copy of a text that all have.
func (t *texts) one(text string) string {
	if text == "" {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shared(text)
}

// all returns a map with the same content in shared copies, no larger than that
// takes.
func (t *texts) all(of map[string]string) map[string]string {
	if len(of) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	shared := make(map[string]string, len(of))
	for key, value := range of {
		shared[t.shared(key)] = t.shared(value)
	}
	return shared
}

func (t *texts) shared(text string) string {
	if known, found := t.known[text]; found {
		return known
	}
	if len(text) > textsSize {
		return text
	}
	if t.known == nil || t.size+len(text) > textsSize {
		t.known, t.size = map[string]string{}, 0
	}
	t.known[text] = text
	t.size += len(text)
	return text
}
