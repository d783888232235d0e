package render

import "slices"

// decision is which of the pools that want a key of a node decides its value.
type decision struct {
	// by is nil where all are paused.
	by *pool
	// contenders are those that it overrides, and at each level the strongest of those that
	// are not nested with the pool that has it there. A paused pool around the one that decides
	// may hold the key, and so the strongest that is not nested with that one is among them.
	contenders []*pool
	// third is the strongest pool that keeps those within the one that decides from
	// overriding it; nil where none does.
	third *pool
}

// decide gives a key to the strongest pool that wants it, by priority and then by age. Pools
// within that one override it at their own strength: only those that are stronger than any
// third pool, which is neither within it nor around it, and among these it is decided in the
// same way. Otherwise a third pool would get from an inner one what it does not get from the
// outer one.
//
// A paused pool decides nothing. It counts as the third pool all the same: that it is paused,
// or resumed, changes no key of a pool that is at work.
func decide(claimants []*pool) (d decision) {
	for left := claimants; ; {
		strongest := strongestOf(left, func(p *pool) bool { return !p.paused })
		if strongest == nil { // nobody within the one that has it, or only paused pools
			d.addRivalsOfPaused(claimants)
			return d
		}
		if d.by != nil {
			d.contenders = append(d.contenders, d.by)
		}
		d.by = strongest
		d.addRival(left, strongest)
		third := strongestOf(left, func(p *pool) bool { return p.rank > strongest.rank && !p.nestedWith(strongest) })
		if third != nil { // it is stronger than the one of the level before
			d.third = third
		}
		var within []*pool
		for _, p := range left {
			if p.within(strongest) && (third == nil || p.rank < third.rank) {
				within = append(within, p)
			}
		}
		left = within
	}
}

// addRival adds the strongest of those that are not nested with a pool.
func (d *decision) addRival(claimants []*pool, of *pool) {
	if rival := strongestOf(claimants, func(p *pool) bool { return !p.paused && !p.nestedWith(of) }); rival != nil {
		d.contenders = append(d.contenders, rival)
	}
}

// addRivalsOfPaused adds those of the paused pools around the one that decides: these hold a
// key against that one, and lose it to a rival all the same.
func (d *decision) addRivalsOfPaused(claimants []*pool) {
	if d.by == nil {
		return
	}
	for _, around := range d.by.enclosing {
		if around.paused {
			d.addRival(claimants, around)
		}
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

// overridden are those around the pool that decides, which overrides them: no more than pools
// may be within each other.
func (d decision) overridden(claimants []*pool) (overridden []*pool) {
	for _, p := range claimants {
		if !p.paused && d.by.within(p) {
			overridden = append(overridden, p)
		}
	}
	return overridden
}

// owes reports whether a pool has its way only because the one that decides overrides another
// one, which is stronger than it. Such a pool owns no key: it would lose it when the one that
// decides is paused.
func owes(p *pool, overridden []*pool) bool {
	return slices.ContainsFunc(overridden, func(around *pool) bool { return around.rank < p.rank && !p.within(around) })
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
