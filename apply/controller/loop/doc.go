// Package loop has what the reconcilers have in common: requests and how soon they
// are repeated, finalizers, conditions and events. Start with [WithBackoff].
package loop
