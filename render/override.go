package render

// decision is which of the pools that want a key of a node decides its value.
type decision struct {
	// by is nil where all are paused.
	by *pool
	// contenders are those that it overrides, and at each level the strongest of those that
	// are not nested with the pool that has it there.
	contenders []*pool
}

// decide gives a key to the strongest pool that wants it, by priority and then by age. Pools
// within that one override it at their own strength: only those that are stronger than any
// third pool, which is neither within it nor around it, and among these it is decided in the
// same way. Otherwise a third pool would get from an inner one what it does not get from the
// outer one.
//
// A paused pool decides nothing. It counts as the third pool all the same: that it is paused,
// or resumed, changes no key that it does not have.
func decide(claimants []*pool) (d decision) {
	for {
		strongest := strongestOf(claimants, func(p *pool) bool { return !p.paused })
		if strongest == nil {
			return d // the pools within are paused: the one around them has it
		}
		if d.by != nil {
			d.contenders = append(d.contenders, d.by)
		}
		d.by = strongest
		third := strongestOf(claimants, func(p *pool) bool { return p.rank > strongest.rank && !p.nestedWith(strongest) })
		if rival := strongestOf(claimants, func(p *pool) bool { return !p.paused && !p.nestedWith(strongest) }); rival != nil {
			d.contenders = append(d.contenders, rival)
		}
		var within []*pool
		for _, p := range claimants {
			if p.within(strongest) && (third == nil || p.rank < third.rank) {
				within = append(within, p)
			}
		}
		claimants = within
	}
}

// heard are the pools that have a say beside the one that decides: all that want the key,
// but those that are nested with it, and those that another one overrides.
func (d decision) heard(claimants []*pool) (heard []*pool) {
	overridden := map[*pool]bool{}
	for _, p := range claimants {
		if !p.paused {
			for _, around := range p.enclosing {
				overridden[around] = true
			}
		}
	}
	for _, p := range claimants {
		if p == d.by || !p.paused && !overridden[p] && !p.nestedWith(d.by) {
			heard = append(heard, p)
		}
	}
	return heard
}

// unheard are those within the pool that decides: they are too weak to override it.
func (d decision) unheard(claimants []*pool) (unheard []*pool) {
	for _, p := range claimants {
		if !p.paused && p.within(d.by) {
			unheard = append(unheard, p)
		}
	}
	return unheard
}

// strongestOf returns the strongest of some pools that counts; nil where none does.
func strongestOf(pools []*pool, counts func(*pool) bool) (strongest *pool) {
	for _, p := range pools {
		if counts(p) && (strongest == nil || p.rank < strongest.rank) {
			strongest = p
		}
	}
	return strongest
}

// within reports whether a pool is within another one.
func (p *pool) within(other *pool) bool {
	inner := len(p.enclosing) - len(other.enclosing) - 1 // pools between the two
	return inner >= 0 && p.enclosing[inner] == other
}

// nestedWith reports whether one of two pools is within the other, or they are the same.
func (p *pool) nestedWith(other *pool) bool {
	return p == other || p.within(other) || other.within(p)
}
