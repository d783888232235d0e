package plan

import (
	"slices"
	"strings"
)

// followings are what nodes have followed of pools, as far as pools say it still: worked out
// once while turns are given, and in numbers, as thousands of nodes may have failed, or may
// have followed as many keys, in each of many rollouts.
type followings map[string]*followedTexts

// following is what a node has followed of a pool.
type following struct {
	// changes stand for what the pool says still, as [Halt.Changes] has it; they are numbers
	// in the texts of the pool, and none where it says nothing of that any more.
	changes []int
	// keyed reports that the record notes the keys, and whole that the pool says as a whole
	// what it said then.
	keyed, whole bool
}

// followedTexts are the texts of what nodes have followed of a pool, by number.
type followedTexts struct {
	pool    *rollout
	texts   []string
	numbers map[string]int
	// keyed are the answers by the first of the keys in memory, which nodes of the same record
	// share, and byText by the keys.
	keyed  map[*string][]int
	byText map[string][]int
}

// of is what a node has followed of a pool; nil where it has followed nothing of it.
func (f followings) of(node *Follower, pool *rollout) *following {
	if known, found := node.followed[pool.name]; found {
		return known
	}
	what, has := node.Change.Pools[pool.name]
	if !has {
		return nil
	}
	found := &following{keyed: len(what.Keys) > 0, whole: what.Content == pool.content}
	switch texts := f.textsOf(pool); {
	case found.keyed:
		found.changes = texts.ofKeys(what.Keys)
	case found.whole:
		found.changes = texts.numbersOf(pool.followedBefore(what))
	}
	if node.followed == nil {
		node.followed = map[string]*following{}
	}
	node.followed[pool.name] = found
	return found
}

func (f followings) textsOf(pool *rollout) *followedTexts {
	if f[pool.name] == nil {
		f[pool.name] = &followedTexts{pool: pool, numbers: map[string]int{}, keyed: map[*string][]int{}, byText: map[string][]int{}}
	}
	return f[pool.name]
}

// ofKeys are those of keys that the pool says still.
func (t *followedTexts) ofKeys(keys []string) []int {
	if known, found := t.keyed[&keys[0]]; found {
		return known
	}
	text := strings.Join(keys, ".")
	numbers, found := t.byText[text]
	if !found {
		standing := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !t.pool.stands(key) })
		for i := range standing {
			standing[i] = t.pool.prefix() + standing[i]
		}
		numbers = t.numbersOf(standing)
		t.byText[text] = numbers
	}
	t.keyed[&keys[0]] = numbers
	return numbers
}

func (t *followedTexts) numbersOf(texts []string) []int {
	numbers := make([]int, 0, len(texts))
	for _, text := range texts {
		number, known := t.numbers[text]
		if !known {
			number = len(t.texts)
			t.texts, t.numbers[text] = append(t.texts, text), number
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// followedBefore stands for what a node has followed of the pool where the record does not note
// the keys: for those of which it has what was before; or for what the pool says as a whole,
// where these are not known either.
func (r *rollout) followedBefore(followed FollowedPool) []string {
	var changes []string
	note := func(field Field, key string, before *string) {
		switch saying, says := r.sayingOf(field, key); {
		case says:
			changes = append(changes, r.prefix()+saying)
		case before != nil:
			changes = append(changes, r.prefix()+r.absence(field, key))
		}
	}
	for key, before := range followed.Labels {
		note(Label, key, before)
	}
	for id, before := range followed.Taints {
		note(Taint, id.String(), before)
	}
	if len(changes) == 0 {
		return []string{followed.Content}
	}
	return changes
}

// lastWaves are the last waves of which nodes have followed something of a pool.
type lastWaves struct {
	// of has them by what the pool says, and whole is that of all that it says.
	of    []int
	whole int
}

// lastWavesOf looks for them among the members, once for each pool.
func (p *progress) lastWavesOf(pool *rollout, all followings) *lastWaves {
	if known := p.last[pool.name]; known != nil {
		return known
	}
	last := &lastWaves{}
	for _, node := range p.members {
		followed := all.of(node, pool)
		if followed == nil || node.Change.Pools[pool.name].Unready {
			continue
		}
		wave := p.of[node.Name]
		if followed.whole {
			last.whole = max(last.whole, wave)
		}
		if !followed.keyed {
			continue
		}
		for _, number := range followed.changes {
			for number >= len(last.of) {
				last.of = append(last.of, 0)
			}
			last.of[number] = max(last.of[number], wave)
		}
	}
	if p.last == nil {
		p.last = map[string]*lastWaves{}
	}
	p.last[pool.name] = last
	return last
}
