package plan

import (
	"sync"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// readRecord reads the record of a node. What it returns is shared, and not to be
// changed. One that cannot be read gives a [*RecordError].
func readRecord(node *NodeState) (Record, error) {
	record, err := recordTexts.read(node.Annotations[v1.AppliedAnnotation])
	if err != nil {
		return Record{}, &RecordError{Node: node.Name, Err: err}
	}
	return record, nil
}

// recordTexts keeps what texts say. Reading one is most of what an unchanged node costs;
// it stays the same for as long as nothing is written, and nodes that are in the
// same pools have the same.
var recordTexts recordMemo

// recordMemo is [ParseRecord], which depends on nothing but the text, with a
// memory of the texts that it was asked of last. It has two generations: the older
// is dropped when the younger is full, and what is asked of again is young again.
type recordMemo struct {
	mu           sync.Mutex
	young, older map[string]Record
	// size is that of the texts in young, in bytes.
	size int
}

// maxMemo bounds the texts of a generation, in bytes. It has room for those of
// some thousand nodes that are all in pools of their own. Beyond that, nodes cost
// what reading costs.
const maxMemo = 512 << 10

func (m *recordMemo) read(text string) (Record, error) {
	if text == "" {
		return Record{}, nil
	}
	if record, known := m.recall(text); known {
		return record, nil
	}
	record, err := ParseRecord(text)
	if err == nil {
		m.keep(text, record)
	}
	return record, err
}

func (m *recordMemo) recall(text string) (record Record, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if record, known = m.young[text]; known {
		return record, true
	}
	if record, known = m.older[text]; known {
		m.add(text, record)
	}
	return record, known
}

func (m *recordMemo) keep(text string, record Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.young[text]; !known {
		m.add(text, record)
	}
}

func (m *recordMemo) add(text string, record Record) {
	if m.young == nil || m.size+len(text) > maxMemo {
		m.older, m.young, m.size = m.young, map[string]Record{}, 0
	}
	m.young[text] = record
	m.size += len(text)
}
