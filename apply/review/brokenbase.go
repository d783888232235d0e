package review

import "fmt"

// BrokenText says in two sentences that the base is broken, and what is compared with
// instead; empty where it is not.
func (c Compared) BrokenText() string {
	if c.BrokenBase == nil {
		return ""
	}
	return fmt.Sprintf("the base %s is broken, and no source takes it. This compares with %s instead", c.BrokenBase.Revision, c.Base)
}

// List has the problems that are told, and how many there are besides.
func (b *BrokenBase) List() []string {
	list := listOf(b.Problems)
	if b.MoreProblems > 0 {
		list = append(list, "and "+Count(b.MoreProblems, "more problem"))
	}
	return list
}
