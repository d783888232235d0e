// Package compare makes the two sides of a comparison: what there is in a cluster, and
// what a change of pools would bring. Where the sides come from is for the caller to
// choose: [Folder] compares a folder with a cluster, [Revisions] two revisions of a Git
// repository, and [Ref] a source with another ref of its repository.
//
// Start with [Sides.Difference], which plans what comes by the functions that the
// controller follows, and [Sides.Review], which makes the review of that.
package compare
