package review

import (
	"github.com/nodepools/nodepools/apply/impact"
	"github.com/nodepools/nodepools/apply/plan"
)

// The version and the kind of a review in JSON and YAML. Fields are added within
// a version; none is taken away or changes its meaning.
const (
	APIVersion = "diff.nodes.lailin.xyz/v1"
	Kind       = "Review"
)

// Review is all that a change of pools does. Its JSON form is documented, and
// stays; every list is there, empty where nothing is to be said.
type Review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Compared says what was compared.
	Compared Compared `json:"compared"`
	Summary  Summary  `json:"summary"`
	// Pools that change, in the order in which they are written.
	Pools []Object `json:"pools"`
	// RuntimeClasses that change, sorted by name.
	RuntimeClasses []Object `json:"runtimeClasses"`
	// Nodes that change, those with the same changes together. A node on which
	// nothing changes but the record of whose each key is has no changes.
	Nodes []Nodes `json:"nodes"`
	// Records are what the record of nodes becomes, of those on which it changes.
	Records []Records `json:"records"`
	// Members are the pools that nodes enter or leave, or on whose nodes something
	// changes, sorted by name.
	Members []Members `json:"members"`
	// HeldBack says which pools the guards keep; null where they keep none.
	HeldBack *HeldBack `json:"heldBack"`
	// HeldReleases are the changes that wait for an approval, because more nodes than
	// the limit allows would leave a pool: the whole revision first, then pools by
	// name. The review shows what the change does once it is approved.
	HeldReleases []HeldRelease `json:"heldReleases"`
	// Kept are the pools that vanish from Git and stay, because they are paused or
	// somebody has said so, sorted.
	Kept []string `json:"kept"`
	// Conflicts are the keys that pools want and do not get.
	Conflicts []Conflict `json:"conflicts"`
	// Problems are left alone, and would be reported.
	Problems []string `json:"problems"`
	// Impact is what happens to pods; null where pods are not known.
	Impact *impact.Impact `json:"impact"`
	// Notes are what the reader should know of how it was compared.
	Notes []string `json:"notes"`
	// Contests are keys that somebody else keeps changing on nodes now, whatever the
	// change does, as the statuses of the pools have them; MoreContests is how many
	// there are besides.
	Contests     []Contest `json:"contests"`
	MoreContests int       `json:"moreContests"`
}

// Compared says what was compared with what.
type Compared struct {
	// Base and Head are in words: "cluster https://10.0.0.1:6443", "pools/",
	// "main@sha1:<40 hex>", "working tree".
	Base string `json:"base"`
	Head string `json:"head"`
	// Source is the name of the NodePoolSource that the head stands for; empty for
	// none.
	Source string `json:"source"`
	// Nodes is how many nodes are known; null where none are.
	Nodes *int `json:"nodes"`
	// Pods is how many pods are known; null where none are.
	Pods *int `json:"pods"`
	// Taken is when the inventory was taken, as RFC 3339 has it; empty where there
	// is none.
	Taken string `json:"taken,omitempty"`
	// BrokenBase is the base that was asked for, where no source takes it. Base is then
	// what is compared with instead, and says why.
	BrokenBase *BrokenBase `json:"brokenBase,omitempty"`
}

// BrokenBase is a base that no source takes.
type BrokenBase struct {
	// Revision that was asked for: "main@sha1:<40 hex>".
	Revision string `json:"revision"`
	// Problems are what is wrong with it; the first three are told.
	Problems []string `json:"problems"`
	// MoreProblems is how many there are besides.
	MoreProblems int `json:"moreProblems,omitempty"`
}

// Object is a NodePool or a RuntimeClass that changes.
type Object struct {
	Name   string      `json:"name"`
	Action plan.Action `json:"action"`
	// File and Line are where the head defines a pool, from the root of its repository,
	// or for files of this machine as they were named.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Before and After are the object in the form of a manifest, without what the
	// API server adds by itself: uid, resourceVersion, generation,
	// creationTimestamp, managedFields and status. Null where there is none.
	Before map[string]any `json:"before"`
	After  map[string]any `json:"after"`
}

// Nodes are nodes on which the same changes.
type Nodes struct {
	// Names, sorted.
	Names []string `json:"names"`
	// Changes, sorted by field and key.
	Changes []plan.KeyChange `json:"changes"`
}

// Records are nodes on which the annotation nodes.lailin.xyz/applied becomes the
// same.
type Records struct {
	// Names, sorted.
	Names []string `json:"names"`
	// Value afterwards; empty where the annotation goes.
	Value string `json:"value"`
}

// Members are how many nodes a pool has, and which enter and leave it.
type Members struct {
	Pool string `json:"pool"`
	// Before and After are how many nodes are in the pool.
	Before int `json:"before"`
	After  int `json:"after"`
	// Entering and Leaving are their names, sorted.
	Entering []string `json:"entering"`
	Leaving  []string `json:"leaving"`
}

// HeldBack are the pools that vanish from Git and that a guard keeps.
type HeldBack struct {
	// Pools that would be deleted, sorted.
	Pools []string `json:"pools"`
	// Of is how many pools the source has.
	Of int `json:"of"`
	// Reason says which guard, Remedy how they can be deleted all the same.
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
}

// HeldRelease is a change that waits for an approval.
type HeldRelease struct {
	// Pool that is held; empty where it is the whole revision, of which nothing is
	// done before.
	Pool string `json:"pool"`
	// Losses are the pools that would lose too many nodes.
	Losses []plan.Loss `json:"losses"`
	// Reason says what is held back and why, Remedy what to do.
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
}

// Conflict is a key of some nodes that pools want and do not get, for the same
// reasons.
type Conflict struct {
	// Nodes, sorted.
	Nodes []string   `json:"nodes"`
	Field plan.Field `json:"field"`
	Key   string     `json:"key"`
	// Claims are what each pool wants, with why it does not get it, sorted by pool.
	// At most three are told.
	Claims []plan.Conflict `json:"claims"`
	// MoreClaims is how many pools there are besides.
	MoreClaims int `json:"moreClaims,omitempty"`
	// Standing tells that it is the same before the change.
	Standing bool `json:"standing"`
}

// Contest is a key of a pool that somebody else keeps changing on nodes, and that is
// put back each time.
type Contest struct {
	Pool  string     `json:"pool"`
	Field plan.Field `json:"field"`
	Key   string     `json:"key"`
	// Nodes is how many there are, NodeNames are the first three of them.
	Nodes     int      `json:"nodes"`
	NodeNames []string `json:"nodeNames"`
	// Managers are field managers that were found to own the key while it had to be
	// put back; of a taint, who wrote the list of taints last.
	Managers []string `json:"managers"`
	// Repairs is how often the key was put back on one of the nodes, at least.
	Repairs int `json:"repairs"`
}

// Summary is what a reader has to know first.
type Summary struct {
	// Changes says in one line what changes and how much: "1 pool changed, 37 nodes
	// changed", or "no difference".
	Changes string `json:"changes"`
	// Impact says the worst first, in one line: "12 pods of 3 workloads evicted".
	// Empty where there is none, or where pods are not known.
	Impact string `json:"impact"`
	// Counts are what a threshold is compared with.
	Counts Counts `json:"counts"`
}

// Counts are how much of each there is. The names are those of --fail-on.
type Counts struct {
	PoolsCreated  int `json:"poolsCreated"`
	PoolsChanged  int `json:"poolsChanged"`
	PoolsDeleted  int `json:"poolsDeleted"`
	PoolsHeldBack int `json:"poolsHeldBack"`
	// ReleasesHeldBack are the changes that wait for an approval of the releases.
	ReleasesHeldBack       int `json:"releasesHeldBack"`
	RuntimeClassesCreated  int `json:"runtimeClassesCreated"`
	RuntimeClassesChanged  int `json:"runtimeClassesChanged"`
	RuntimeClassesReplaced int `json:"runtimeClassesReplaced"`
	RuntimeClassesDeleted  int `json:"runtimeClassesDeleted"`
	// NodesChanged are the nodes that are written.
	NodesChanged int `json:"nodesChanged"`
	// NodesEntering and NodesLeaving count a node once for each pool.
	NodesEntering int `json:"nodesEntering"`
	NodesLeaving  int `json:"nodesLeaving"`
	// Conflicts are keys, counted once for each node; NewConflicts are those of them
	// that are not the same before the change.
	Conflicts    int `json:"conflicts"`
	NewConflicts int `json:"newConflicts"`
	// Problems are all, NewProblems those that are not there before the change.
	Problems    int `json:"problems"`
	NewProblems int `json:"newProblems"`
	// Evictions are pods that run.
	Evictions int `json:"evictions"`
	// FinishedPodsDeleted are pods that have finished, and that a NoExecute taint
	// deletes as it does those that run.
	FinishedPodsDeleted int `json:"finishedPodsDeleted"`
	BudgetsExceeded     int `json:"budgetsExceeded"`
	Unschedulable       int `json:"unschedulable"` // pods
	// NotRecreated are the evicted pods that nothing creates again.
	NotRecreated int `json:"notRecreated"`
	// Nowhere are the workloads for whose next pod no node is left.
	Nowhere           int `json:"nowhere"`
	DaemonPodsRemoved int `json:"daemonPodsRemoved"`
	DaemonPodsStarted int `json:"daemonPodsStarted"`
	// RuntimeClassesInUse are those that go or are replaced while something names
	// them.
	RuntimeClassesInUse int `json:"runtimeClassesInUse"`
	// Overlaps are nodes on which the pods of none of their pools can run.
	Overlaps int `json:"overlaps"`
}
