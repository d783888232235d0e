package review

import "fmt"

// BrokenText returns two sentences: that the base is broken, and what is
// compared with instead. It is empty where the base is not broken.
func (c Compared) BrokenText() string {
	if c.BrokenBase == nil {
		return ""
	}
	return fmt.Sprintf("the base %s is broken, and no source takes it. This compares with %s instead", c.BrokenBase.Revision, c.Base)
}

// List returns the listed problems, and a line with the number of further ones.
func (b *BrokenBase) List() []string {
	list := listOf(b.Problems)
	if b.MoreProblems > 0 {
		list = append(list, "and "+Count(b.MoreProblems, "more problem"))
	}
	return list
}
