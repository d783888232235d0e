package v1

// Reasons of conditions. A NodePoolSource that cannot be fetched has one of the
// reasons of package source instead, such as RefMissing.
const (
	// SucceededReason: all is as it shall be.
	SucceededReason = "Succeeded"
	// ProgressingReason: nodes are still being brought up to date.
	ProgressingReason = "Progressing"
	// ReleasingReason: the pool is being deleted, and nodes still carry keys of
	// it.
	ReleasingReason = "Releasing"
	// PausedReason: nodes.lailin.xyz/reconcile is disabled.
	PausedReason = "Paused"
	// ConflictReason: somebody else, or an older pool of equal priority, holds a
	// key, or it does not fit on the node.
	ConflictReason = "Conflict"
	// ContestedReason: somebody else keeps changing a key that is put back each time.
	ContestedReason = "Contested"
	// ParentReason: spec.parent leads nowhere.
	ParentReason = "ParentInvalid"
	// SelectorReason: spec.selector or spec.nodeNames cannot be read.
	SelectorReason = "SelectorInvalid"
	// RuntimeClassReason: the RuntimeClass belongs to somebody else, or could not
	// be written.
	RuntimeClassReason = "RuntimeClassFailed"
	// NodesReason: some nodes could not be read or written.
	NodesReason = "NodesFailed"

	// KubeletLabelsReason: a kubelet may set labels that the selector names.
	KubeletLabelsReason = "KubeletLabels"
	// NamePatternsReason: spec.nodeNames has patterns, so whoever may bootstrap
	// nodes of any name can add a member.
	NamePatternsReason = "NamePatterns"
	// AcknowledgedReason: nodes can join by themselves, and the annotation
	// nodes.lailin.xyz/acknowledgeSelfJoin says that this is meant.
	AcknowledgedReason = "Acknowledged"
	// ProtectedReason: members are chosen by what no kubelet can change.
	ProtectedReason = "Protected"

	// WaitingForWindowReason: a new revision waits until a window of the source opens, or
	// changes of a pool wait on nodes until those of its rollout do.
	WaitingForWindowReason = "WaitingForWindow"
	// WaitingForBudgetReason: nodes wait for their turn to follow the pool, as no more of
	// them may be unavailable.
	WaitingForBudgetReason = "WaitingForBudget"
	// WaitingForApprovalReason: the next wave of the rollout waits for an approval.
	WaitingForApprovalReason = "WaitingForApproval"
	// SoakingReason: a wave of the rollout has followed, and the next one begins later.
	SoakingReason = "Soaking"
	// RolloutPausedReason: spec.rollout.paused is true, of the pool or of one that changes
	// of it wait for.
	RolloutPausedReason = "RolloutPaused"
	// RolloutHaltedReason: nodes have failed after they have followed the pool, or one that
	// changes of it wait for, and no further node follows.
	RolloutHaltedReason = "RolloutHalted"
	// EvictingReason: pods are evicted from nodes that are about to get NoExecute taints.
	EvictingReason = "Evicting"
	// EvictionTimedOutReason: pods are left on such nodes for longer than they may be.
	EvictionTimedOutReason = "EvictionTimedOut"
	// DrainObstructedReason: nodes are not drained before they get NoExecute taints, as
	// NoSchedule taints there would let pods come again and again.
	DrainObstructedReason = "DrainObstructed"
	// ProgressDeadlineExceededReason: the next step of a rollout takes longer than its
	// progressDeadline.
	ProgressDeadlineExceededReason = "ProgressDeadlineExceeded"
	// SuspendedReason: spec.suspend is true.
	SuspendedReason = "Suspended"
	// WebhookDisabledReason: the controller runs without --webhook-bind-address.
	WebhookDisabledReason = "WebhookDisabled"
	// InvalidReason: the revision of a source holds files that are not valid pools;
	// or a pool in the cluster breaks a rule that is newer than it.
	InvalidReason = "Invalid"
	// ClaimedReason: the revision has pools that the source does not own.
	ClaimedReason = "Claimed"
	// WaitingForSourceReason: pools of the revision, or pools that vanished from it, may be
	// another source's, which has to be read first.
	WaitingForSourceReason = "WaitingForSource"
	// NotOwnedReason: pools look as if they were the source's, and it has not applied
	// them itself.
	NotOwnedReason = "NotOwned"
	// ApplyReason: the pools could not be written to the cluster.
	ApplyReason = "ApplyFailed"
	// PruneBlockedReason: pools that vanished from Git are kept.
	PruneBlockedReason = "PruneBlocked"
	// PruneApprovedReason: pools that vanished from Git were deleted because
	// somebody has approved it.
	PruneApprovedReason = "PruneApproved"
	// ReleaseBlockedReason: more nodes than the limit allows would leave a pool.
	ReleaseBlockedReason = "ReleaseBlocked"
	// ReleaseApprovedReason: a revision was applied although it takes more nodes out
	// of a pool than the limit allows, because somebody has approved it.
	ReleaseApprovedReason = "ReleaseApproved"
	// DeletingReason: the source is being deleted, and its pools before it.
	DeletingReason = "Deleting"
)
