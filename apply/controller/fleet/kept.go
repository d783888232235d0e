package fleet

// Kept is how many entries are kept in memory by the name of a pool, a node or a source,
// by what for; nothing is kept of what is gone.
func (f *Fleet) Kept() map[string]int {
	kept := map[string]int{}
	f.counts.mu.Lock()
	kept["nodes"], kept["nodes under way"], kept["epochs"] = len(f.counts.nodes), len(f.counts.underway), len(f.counts.epochs)
	kept["counts"], kept["awaited pools"] = len(f.counts.pools), len(f.counts.awaited)
	f.counts.mu.Unlock()
	f.turns.mu.Lock()
	kept["turns"], kept["changed nodes"] = len(f.turns.begun)+len(f.turns.failed)+len(f.turns.waves), len(f.turns.changed)+len(f.turns.ahead)
	f.turns.mu.Unlock()
	f.pools.mu.Lock()
	kept["deleted pools"] = len(f.deletions.seen)
	if f.current != nil {
		kept["pools"] = len(f.current.pools)
	}
	f.pools.mu.Unlock()
	return kept
}
