package review

import (
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

// The version and the kind of a review in JSON and YAML. Fields are added within
// a version; none is taken away or changes its meaning.
const (
	APIVersion = "diff.nodes.lailin.xyz/v1"
	Kind       = "Review"
)

// Review is all that a change of pools does. Its JSON form is documented and
// stable; every list is present, possibly empty.
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
	// Nodes that change, those with the same changes together. A node whose record
	// of owners alone changes has no changes.
	Nodes []Nodes `json:"nodes"`
	// Records are the new records of nodes on which they change.
	Records []Records `json:"records"`
	// Members are the pools that nodes enter or leave, or on whose nodes something
	// changes, sorted by name.
	Members []Members `json:"members"`
	// HeldBack has the pools that the guards keep; null where they keep none.
	HeldBack *HeldBack `json:"heldBack"`
	// HeldReleases are the changes that wait for an approval, because more nodes than
	// the limit allows would leave a pool: the whole revision first, then pools by
	// name. The review shows what the change does once it is approved.
	HeldReleases []HeldRelease `json:"heldReleases"`
	// Kept are the pools that are gone from Git and stay, because they are paused
	// or protected from pruning, sorted.
	Kept []string `json:"kept"`
	// Conflicts are the keys that pools want and do not get.
	Conflicts []Conflict `json:"conflicts"`
	// Problems are objects that the controller would report and not change.
	Problems []string `json:"problems"`
	// Impact is what happens to pods; null where pods are not known.
	Impact *impact.Impact `json:"impact"`
	// Notes are what the reader should know about the comparison.
	Notes []string `json:"notes"`
	// Contests are keys that somebody else keeps changing on nodes now, whatever the
	// change does, as the statuses of the pools have them; MoreContests is how many
	// there are besides.
	Contests     []Contest `json:"contests"`
	MoreContests int       `json:"moreContests"`
	// Rollouts foretell when nodes follow, of the pools whose rollouts order that, sorted by
	// name.
	Rollouts []Rollout `json:"rollouts"`
	// WeakenedRollouts are the pools whose rollouts let more happen than before, or sooner,
	// sorted by name.
	WeakenedRollouts []plan.Weakening `json:"weakenedRollouts"`
	// BypassedRollouts are the pools that disturb nodes without asking rollouts that are on them,
	// sorted by name.
	BypassedRollouts []plan.Bypass `json:"bypassedRollouts"`
	// EmptyWaves are those that no node of the pool is in, of pools that are created or changed,
	// sorted by pool: what they are there to show is not shown.
	EmptyWaves []plan.EmptyWave `json:"emptyWaves"`
	// Renames are pools that are deleted while others are created with the same nodes and
	// keys, sorted by their old name.
	Renames []plan.Rename `json:"renames"`
}

// Compared has what was compared with what.
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
	// BrokenBase is the requested base, where no source accepts it. Base is then
	// what is compared with instead, and says why.
	BrokenBase *BrokenBase `json:"brokenBase,omitempty"`
	// MovedBase is what the head goes into, "refs/remotes/origin/main@sha1:<40 hex>", where
	// its pools are no longer those of the merge base, which is compared with: merging may do
	// more than what is compared, so no threshold is known to hold. Empty where they are.
	MovedBase string `json:"movedBase,omitempty"`
}

// BrokenBase is a base that no source accepts.
type BrokenBase struct {
	// Revision that was requested: "main@sha1:<40 hex>".
	Revision string `json:"revision"`
	// Problems are its problems, at most three.
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
	// Value afterwards; empty where the annotation is removed.
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

// HeldBack are the pools that are gone from Git and that a guard keeps.
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
	// Pool that is held; empty where it is the whole revision, no part of which is
	// applied before.
	Pool string `json:"pool"`
	// Losses are the pools that would lose too many nodes.
	Losses []plan.Loss `json:"losses"`
	// Reason says what is held back and why, Remedy what to do about it.
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
	// At most three are listed.
	Claims []plan.Conflict `json:"claims"`
	// MoreClaims is how many pools there are besides.
	MoreClaims int `json:"moreClaims,omitempty"`
	// Standing reports that it is the same before the change.
	Standing bool `json:"standing"`
}

// Contest is a key of a pool that somebody else keeps changing on nodes, and
// that the controller repairs each time.
type Contest struct {
	Pool  string     `json:"pool"`
	Field plan.Field `json:"field"`
	Key   string     `json:"key"`
	// Nodes is how many there are, NodeNames are the first three of them.
	Nodes     int      `json:"nodes"`
	NodeNames []string `json:"nodeNames"`
	// Managers are field managers that owned the key when it had to be repaired;
	// for a taint, who wrote the list of taints last.
	Managers []string `json:"managers"`
	// Repairs is how often the key was repaired on one of the nodes, at least.
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

// Counts are the numbers of a review. Their names are those of --fail-on.
type Counts struct {
	PoolsCreated  int `json:"poolsCreated"`
	PoolsChanged  int `json:"poolsChanged"`
	PoolsDeleted  int `json:"poolsDeleted"`
	PoolsHeldBack int `json:"poolsHeldBack"`
	// ReleasesHeldBack are the changes that wait for an approval of their releases.
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
	// Problems are all, NewProblems those that do not exist before the change.
	Problems    int `json:"problems"`
	NewProblems int `json:"newProblems"`
	// Evictions are running pods, also those that are drained.
	Evictions int `json:"evictions"`
	// PodsDrained are those of the evicted pods that go as PodDisruptionBudgets allow, before
	// a NoExecute taint comes.
	PodsDrained int `json:"podsDrained"`
	// FinishedPodsDeleted are finished pods that a NoExecute taint deletes.
	FinishedPodsDeleted int `json:"finishedPodsDeleted"`
	BudgetsExceeded     int `json:"budgetsExceeded"`
	// BudgetsBlocking are the PodDisruptionBudgets for which the drain of a node waits.
	BudgetsBlocking int `json:"budgetsBlocking"`
	Unschedulable   int `json:"unschedulable"` // pods
	// PodsStranded are pods without a node that never get one because of the change.
	PodsStranded int `json:"podsStranded"`
	// NotRecreated are the evicted pods that nothing recreates.
	NotRecreated int `json:"notRecreated"`
	// NoFeasibleNode are the workloads for whose next pod no node is feasible.
	NoFeasibleNode    int `json:"noFeasibleNode"`
	DaemonPodsRemoved int `json:"daemonPodsRemoved"`
	DaemonPodsStarted int `json:"daemonPodsStarted"`
	// RuntimeClassesInUse are those that are deleted or replaced while something names them.
	RuntimeClassesInUse int `json:"runtimeClassesInUse"`
	// Overlaps are nodes on which the pods of none of their pools can run.
	Overlaps int `json:"overlaps"`
	// Waves are those that are left in the rollout of a pool, of the pool with the most.
	Waves int `json:"waves"`
	// EvictionsPerWave are the running pods that are evicted in one wave, of the wave with
	// the most.
	EvictionsPerWave int `json:"evictionsPerWave"`
	// PolicyWeakened are the pools whose rollouts are weakened.
	PolicyWeakened int `json:"policyWeakened"`
	// RolloutsBypassed are the nodes on which something disruptive happens without asking a
	// rollout that is on them.
	RolloutsBypassed int `json:"rolloutsBypassed"`
	// EmptyWaves are the waves of pools that are created or changed which no node is in.
	EmptyWaves int `json:"emptyWaves"`
	// RolloutsHalted are the pools whose rollouts stay halted.
	RolloutsHalted int `json:"rolloutsHalted"`
}
