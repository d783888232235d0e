package nodecache

import "sync"

// sharedTexts are the labels, annotations and taints of all cached nodes.
// Thousands of nodes have nearly all of their keys and most of their values in
// common, and each node comes from the API server with its own copy.
var sharedTexts texts

// texts interns strings: it returns one copy of equal texts. It remembers no
// more than textsSize bytes: then it starts anew, so that texts of a single
// node, or of deleted nodes, are not kept for good. A text of many nodes then
// has one copy per restart. It may be used by many goroutines at once.
type texts struct {
	mu    sync.Mutex
	known map[string]string
	size  int
}

const textsSize = 512 << 10

// one returns the shared copy of a text.
func (t *texts) one(text string) string {
	if text == "" {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shared(text)
}

// all returns a map with the same content in shared copies, without spare capacity.
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
