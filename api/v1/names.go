package v1

import (
	"strings"
)

// Names on NodePools.
const (
	// SourceLabel on a NodePool names the NodePoolSource that it came from. It is
	// there for people and for selectors; ownership goes by SourceUIDAnnotation.
	SourceLabel = "nodes.lailin.xyz/source"

	// SourceUIDAnnotation on a NodePool is the UID of the NodePoolSource that owns
	// it. A name can be given again and a label set by anybody's script; a source
	// prunes only pools on which it has applied its own UID. Set by hand to the UID
	// of another source, it hands the pool over to that one.
	SourceUIDAnnotation = "nodes.lailin.xyz/sourceUID"

	// RevisionAnnotation on a NodePool is the Git revision that it was last
	// taken from, such as main@sha1:<40 hex>.
	RevisionAnnotation = "nodes.lailin.xyz/revision"

	// FileAnnotation on a NodePool is the file that it was in when it last changed,
	// relative to the source's path. Without the line, which moves with every line
	// above it.
	FileAnnotation = "nodes.lailin.xyz/file"

	// LayersAnnotation on a NodePool has what later layers set of it when it last
	// changed: a JSON object that has the fields by their file, such as
	// {"clusters/prod-1/gpu.yaml":["spec.labels[tier]"]}.
	LayersAnnotation = "nodes.lailin.xyz/layers"

	// URLPrefixAnnotation on a Secret says which repositories its credential is for: a
	// URL, of which that of a source must be a continuation. Without it, whoever may
	// write a source could have any Secret sent to a server of their own.
	URLPrefixAnnotation = "nodes.lailin.xyz/url-prefix"

	// WebhookSecretType is the type of the Secrets that spec.webhook of a source may
	// name. Whoever may write a source could else have the path of its webhook computed
	// from any Secret of the namespace, and try guesses of what is in it.
	WebhookSecretType = "nodes.lailin.xyz/webhook"

	// PruneAnnotation with the value Disabled keeps a NodePool that has
	// vanished from Git.
	PruneAnnotation = "nodes.lailin.xyz/prune"

	// LayerAnnotation in a pool file of a later layer says what the document does: add
	// defines a pool that no earlier layer has, remove takes one of an earlier layer
	// away. Without it, the document changes a pool of an earlier layer. It is not in
	// the cluster.
	LayerAnnotation = "nodes.lailin.xyz/layer"

	// AcknowledgeSelfJoinAnnotation on a NodePool says that nodes are meant to be able
	// to join it, or to get its pods, by themselves. It names by what:
	// selector:<label key>, protectedSelector:<label key> where the selector also
	// requires a label that kubelets may not set, nodeNames:<pattern> and
	// labels:<label key>, with spaces between them. What it does not name is warned of
	// as before.
	AcknowledgeSelfJoinAnnotation = "nodes.lailin.xyz/acknowledgeSelfJoin"

	// RevisionNumberAnnotation on a NodePool is the UID of the source that wrote the spec, the
	// number of its revision, and the hash of the spec, or "gone" where the revision drops the
	// pool: <uid>/<number>/<hash>. It counts once status.number of the source is no less.
	RevisionNumberAnnotation = "nodes.lailin.xyz/revisionNumber"

	// ApproveReleaseAnnotation approves what is held back because of the nodes that leave a pool
	// or get a NoExecute taint. On a NodePool the value is the metadata.generation that is
	// approved, or [DeletionApproval] before its deletion. On a NodePoolSource it is the revision
	// that may exceed spec.releaseLimit; it counts for that revision alone, and once: what was
	// used stands in status.lastHandledReleaseApproval.
	ApproveReleaseAnnotation = "nodes.lailin.xyz/approveRelease"

	// ApproveRolloutAnnotation on a NodePool approves that the wave after one of its waves
	// begins. The value names the changes that wait, in short, and after a slash that wave:
	// it counts for these changes alone, and approves the waves before that one as well.
	// Status messages have it.
	ApproveRolloutAnnotation = "nodes.lailin.xyz/approveRollout"

	// ResumeRolloutAnnotation on a NodePool resumes a rollout that was halted. The value is
	// that of the changes and the time of status.rollout.halt, with a slash between them: it
	// counts for this halt alone. Status messages have it.
	ResumeRolloutAnnotation = "nodes.lailin.xyz/resumeRollout"

	// ExpediteRolloutAnnotation on a NodePool lets nodes follow changes outside the windows
	// and waves of its rollout, and without their soak and approval; its budget, a pause and
	// a halt hold. The value names the changes, in short, with a dot between them: it counts
	// for these alone.
	ExpediteRolloutAnnotation = "nodes.lailin.xyz/expediteRollout"

	// DeletionApproval is the value of [ApproveReleaseAnnotation] that approves the
	// deletion of a pool. On a NodePoolSource it approves that of all its pools,
	// when the source is deleted and its deletionPolicy is Delete.
	DeletionApproval = "deletion"

	// ReleaseFinalizer holds a deleted NodePool until its nodes are released.
	ReleaseFinalizer = "nodes.lailin.xyz/release"
)

// Names on NodePoolSources.
const (
	// ApprovePruneAnnotation on a NodePoolSource names the revision, such as
	// main@sha1:<40 hex>, whose prune may delete more pools than spec.pruneLimit
	// allows. It counts for that revision alone, and once: what was used stands in
	// status.lastHandledPruneApproval.
	ApprovePruneAnnotation = "nodes.lailin.xyz/approvePrune"

	// SourceFinalizer holds a deleted NodePoolSource until its pools are gone where its
	// deletionPolicy is Delete, and else until they count without its number.
	SourceFinalizer = "nodes.lailin.xyz/source"
)

// Names on Nodes.
const (
	// AppliedAnnotation on a Node is the record of what the pools put there.
	// Only the controller may write it.
	AppliedAnnotation = "nodes.lailin.xyz/applied"

	// RoleLabelPrefix and a pool's name make the label that shows the pool in
	// the ROLES column of kubectl get nodes. Its value is empty.
	RoleLabelPrefix = "node-role.kubernetes.io/"
)

// Names on NodePools, NodePoolSources and Nodes.
const (
	// ReconcileAnnotation with the value Disabled pauses. On a NodePool: its
	// RuntimeClass, and what it put on nodes, stay as they are, and it is not
	// pruned; deleted by hand, it stays until it is resumed. Its spec still
	// follows Git. On a Node: nothing is written to it. On a NodePoolSource: the
	// repository is not polled, and its pools stay when it is deleted.
	ReconcileAnnotation = "nodes.lailin.xyz/reconcile"

	// RequestedAtAnnotation with a new value asks for a pass at once. The value
	// that was acted on last stands in status.lastHandledReconcileAt.
	RequestedAtAnnotation = "nodes.lailin.xyz/requestedAt"

	// Disabled is the value that switches off what an annotation names.
	Disabled = "disabled"
)

const (
	// Domain is the domain of every label and annotation of the project. Pools
	// may not set keys in it.
	Domain = "nodes.lailin.xyz"

	// FieldManager owns what the controller writes.
	FieldManager = "nodepools"

	// LeaseName is the name of the lease by which instances of the controller agree
	// on which of them works.
	LeaseName = "nodepools"

	// RuntimeClassPrefix and a pool's name make the name of its RuntimeClass.
	RuntimeClassPrefix = "node-pool-"

	// DefaultHandler is the handler of a pool that has none and inherits none.
	DefaultHandler = "runc"
)

// Condition types. Ready, Reconciling and Stalled mean what kstatus says they
// mean; Fetched, Valid and PruneBlocked are of a
// NodePoolSource alone.
const (
	// ReadyCondition is true when the object is carried out in full.
	ReadyCondition = "Ready"
	// ReconcilingCondition is true while there is work left that will be done.
	ReconcilingCondition = "Reconciling"
	// StalledCondition is true when somebody has to act before work goes on.
	StalledCondition = "Stalled"

	// ConflictedCondition is true on a NodePool while a key that it wants on
	// some node is held at another value by somebody else.
	ConflictedCondition = "Conflicted"

	// ContestedCondition is true on a NodePool while somebody else keeps changing a
	// key of it on some node. Else there is no such condition.
	ContestedCondition = "Contested"

	// SelfJoinableCondition is true on a NodePool whose selector names labels that
	// a kubelet may set on its own node, so that a node can join it, or leave it, by
	// itself; or whose nodeNames has patterns, so that whoever may bootstrap nodes of
	// any name can add one. That says nothing of whether the pool is carried out.
	SelfJoinableCondition = "SelfJoinable"

	// FetchedCondition is true when the newest revision could be read.
	FetchedCondition = "Fetched"
	// WebhookReadyCondition is true on a NodePoolSource with spec.webhook while the Git
	// server can ask for a poll. Its pools are followed all the same without.
	WebhookReadyCondition = "WebhookReady"
	// ValidCondition is true when the newest revision holds valid pools only.
	ValidCondition = "Valid"
	// PruneBlockedCondition is true while pools that vanished from Git are
	// kept because their deletion looks like an accident.
	PruneBlockedCondition = "PruneBlocked"

	// ReleaseBlockedCondition is true on a NodePool or a NodePoolSource while a
	// change of it waits for an approval, because more nodes than the limit allows
	// would leave a pool.
	ReleaseBlockedCondition = "ReleaseBlocked"
)

// IsDisabled reports whether an annotation of an object switches off what it names.
// Upper and lower case mean the same: a switch that is meant for safety must not
// fail on that.
func IsDisabled(object interface{ GetAnnotations() map[string]string }, annotation string) bool {
	return strings.EqualFold(object.GetAnnotations()[annotation], Disabled)
}

// RoleLabel is the label key by which a pool's nodes are known.
func RoleLabel(pool string) string { return RoleLabelPrefix + pool }

// RuntimeClassName is the name of a pool's RuntimeClass.
func RuntimeClassName(pool string) string { return RuntimeClassPrefix + pool }
