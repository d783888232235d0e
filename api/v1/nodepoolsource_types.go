package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodePoolSource is a Git repository that pools come from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Pools",type=integer,JSONPath=`.status.pools`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.shortRevision`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be no more than 63 characters: it becomes the value of the label nodes.lailin.xyz/source"
type NodePoolSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodePoolSourceSpec `json:"spec"`
	// status of the source. A new source has the observedGeneration -1: it is not ready.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status NodePoolSourceStatus `json:"status,omitempty"`
}

// NodePoolSourceSpec says where the pools are and how to follow them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.secretRef) || self.url.matches('^(https|ssh)://')",message="secretRef needs a url that begins with https:// or ssh://: over anything else a credential can be read on its way",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.proxySecretRef) || !self.url.startsWith('file:')",message="proxySecretRef needs a url that begins with https://, http:// or ssh://",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || self.provider != 'github' || has(self.secretRef)",message="provider github needs secretRef: a Secret with githubAppID and githubAppPrivateKey"
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || self.provider != 'azure' || self.url.matches('^https://(dev[.]azure[.]com|[a-z0-9-]+[.]visualstudio[.]com)/')",message="provider azure needs a url that begins with https://dev.azure.com/ or https://<organization>.visualstudio.com/: the token of the controller is sent nowhere else",reason="FieldValueForbidden"
// +kubebuilder:validation:XValidation:rule="!has(self.provider) || self.provider != 'aws' || self.url.matches('^https://git-codecommit[.][a-z0-9-]+[.]amazonaws[.]com([.]cn)?/')",message="provider aws needs a url that begins with https://git-codecommit.<region>.amazonaws.com/: the password of the controller is sent nowhere else",reason="FieldValueForbidden"
type NodePoolSourceSpec struct {
	// url of the repository: https, ssh, http or file. It must not carry a credential;
	// ssh needs one in secretRef, with the host keys of the server.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?|ssh|file)://')",message="url must begin with https://, http://, ssh:// or file://",messageExpression="'url must begin with ' + (self.matches('^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^:@]+$') ? 'ssh://: write ssh://' + self.replace(':/', '/').replace(':', '/') : 'https://, http://, ssh:// or file://')",reason="FieldValueForbidden"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https?://[^/]*@') && !self.matches('^ssh://[^/@]*:[^/@]*@') && !self.matches('^[a-z]+://[^/]*/.*:/*[^/]*@') && !self.matches('[?#]')",message="url must not carry a credential, nor a query or a fragment: anybody who may read this object could read it",reason="FieldValueForbidden"
	URL string `json:"url"`

	// secretRef names the Secret with the credential for the repository, in the
	// namespace of the controller. It has the keys that Flux knows: username and
	// password, bearerToken, ca.crt, tls.crt and tls.key, identity and known_hosts,
	// githubAppID, githubAppInstallationID or githubAppInstallationOwner,
	// githubAppPrivateKey and githubAppBaseURL; those of Argo CD are understood too. Its
	// annotation nodes.lailin.xyz/url-prefix is required, and says which URLs the
	// credential may be sent to.
	// +optional
	SecretRef *SecretRef `json:"secretRef,omitempty"`

	// provider of the credential. generic: that of secretRef, or none. github: the tokens
	// of the GitHub App of secretRef, which are used without this field too. azure and
	// aws: those that the cloud issues to the identity of the controller's
	// ServiceAccount; they are sent to Azure DevOps, or to the CodeCommit of the region
	// that the url names, and secretRef may have nothing but ca.crt beside them.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// proxySecretRef names the Secret with the proxy for https, http and ssh, in the
	// namespace of the controller: address, a URL of http, https or socks5; username and
	// password where it wants a login; noProxy, a list of hosts that are reached without
	// it. Without it, https and http take the proxy of the controller's environment.
	// +optional
	ProxySecretRef *SecretRef `json:"proxySecretRef,omitempty"`

	// ref to follow; the repository's default branch where it is left out.
	// +optional
	Ref *GitRef `json:"ref,omitempty"`

	// path of the folder in the repository that holds the pools; the whole
	// repository where it is left out.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')",message="path must be relative to the repository and stay inside it"
	Path string `json:"path,omitempty"`

	// layers are folders within path, of which later ones change earlier ones: base,
	// regions/eu, clusters/prod-1. Only they are read. A document in a later folder
	// changes the pool of that name: maps are merged by key, taints by key and effect,
	// null removes, and the annotation nodes.lailin.xyz/layer with the value add or
	// remove adds or removes a pool. Without layers, all of path is read.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^[^./][^/]*(/[^./][^/]*)*$`
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.filter(y, (y + '/').startsWith(x + '/')).size() == 1)",message="layers must differ, and none may be within another: its files would be read twice"
	Layers []string `json:"layers,omitempty"`

	// interval between two polls of the repository, such as 30s or 5m; at least
	// one second. A poll that finds nothing new costs one request.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="interval must be between 1s and 24h"
	Interval metav1.Duration `json:"interval,omitempty"`

	// webhook lets the Git server ask for a poll, so that a push is followed at once. The
	// controller has to run with --webhook-bind-address; the path of the URL stands in
	// status.webhookPath.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`

	// prune deletes pools of this source that are no longer in the repository.
	// +optional
	// +kubebuilder:default=true
	Prune *bool `json:"prune,omitempty"`

	// pruneLimit is how many of this source's pools one revision may delete: a
	// number, or a percentage of the pools that the source had in the cluster
	// before, rounded up. A revision that would delete more, or the last one, deletes
	// nothing and says so in the condition PruneBlocked. The annotation
	// nodes.lailin.xyz/approvePrune with the name of that revision lets it delete
	// more than this, once; the last pool never goes.
	// +optional
	// +kubebuilder:default="30%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^(100|[0-9]{1,2})%$')",message="pruneLimit must be a number from 0 up or a percentage from 0% to 100%"
	PruneLimit *intstr.IntOrString `json:"pruneLimit,omitempty"`

	// releaseLimit is how many nodes one revision may take out of any one pool: a number,
	// or a percentage of the members and carriers of the pool, rounded down, and at least 1
	// unless it is 0%. It also limits the nodes that get a NoExecute taint, of all nodes, and
	// those that are released by the deletion of pools, of all nodes that carry keys of
	// pools. A revision that exceeds the limit, or that takes the last node out of a pool, is
	// not applied at all, and the condition ReleaseBlocked says so. The annotation
	// nodes.lailin.xyz/approveRelease with the name of that revision approves it, once.
	// +optional
	// +kubebuilder:default="50%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 2147483647 : self.matches('^(100|[0-9]{1,2})%$')",message="releaseLimit must be a number from 0 up or a percentage from 0% to 100%"
	ReleaseLimit *intstr.IntOrString `json:"releaseLimit,omitempty"`

	// suspend stops looking at the repository. The pools stay and are still
	// carried out.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// deletionPolicy says what becomes of the pools when this source is deleted.
	// Orphan: they stay as they are and are still carried out, until they are handed
	// over to another source or deleted by hand. Delete: they are deleted, whatever
	// prune and pruneLimit say, and the source goes when they are gone; pools that
	// are paused or whose pruning is disabled stay, and so do all of a source that
	// is suspended or paused.
	// +optional
	// +kubebuilder:default=Orphan
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// windows are when a new revision may be applied; several are their union. Outside
	// them it is fetched and validated, and waits. What was changed by hand is put back at
	// any time. Without windows, revisions are applied at any time that is not excluded.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Windows []Window `json:"windows,omitempty"`

	// exclusions are when no new revision is applied, whatever the windows say.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Exclusions []Exclusion `json:"exclusions,omitempty"`
}

// DeletionPolicy is what becomes of the pools of a source that is deleted.
//
// +kubebuilder:validation:Enum=Orphan;Delete
type DeletionPolicy string

const (
	// OrphanPools leaves the pools as they are.
	OrphanPools DeletionPolicy = "Orphan"
	// DeletePools deletes them, and then lets the source go.
	DeletePools DeletionPolicy = "Delete"
)

// Provider is where the credential of a repository comes from.
//
// +kubebuilder:validation:Enum=generic;github;azure;aws
type Provider string

const (
	// GenericProvider is the Secret that the source names.
	GenericProvider Provider = "generic"
	// GitHubProvider is the GitHub App in the Secret.
	GitHubProvider Provider = "github"
	// AzureProvider is the workload identity of the controller at Azure.
	AzureProvider Provider = "azure"
	// AWSProvider is the IAM role of the controller.
	AWSProvider Provider = "aws"
)

// SecretRef names a Secret in the namespace of the controller.
type SecretRef struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// Webhook is how a Git server says that something was pushed.
type Webhook struct {
	// secretRef names the Secret with the token that requests are authenticated by, in
	// the namespace of the controller: of the type nodes.lailin.xyz/webhook, with the
	// key token, of at least 16 bytes.
	// +required
	SecretRef SecretRef `json:"secretRef"`
}

// GitRef chooses a commit of a repository, in one way.
//
// +kubebuilder:validation:XValidation:rule="[has(self.branch), has(self.tag), has(self.semver), has(self.commit)].filter(x, x).size() == 1",message="ref must have exactly one of branch, tag, semver and commit"
type GitRef struct {
	// branch to follow.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// tag to follow.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Tag string `json:"tag,omitempty"`

	// semver is a range of versions, such as ~1.4; the highest tag within it is
	// followed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Semver string `json:"semver,omitempty"`

	// commit to stay at, 40 hexadecimal digits.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{40}$`
	Commit string `json:"commit,omitempty"`
}

// NodePoolSourceStatus is what was found at the repository.
type NodePoolSourceStatus struct {
	// observedGeneration is the generation of the spec that this status is of; -1 is
	// of none.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Ready, Reconciling, Stalled, Fetched, Valid, PruneBlocked,
	// ReleaseBlocked once a revision was held back for its releases, and WebhookReady
	// with spec.webhook.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// revision that the cluster's pools are taken from: the last good one.
	// +optional
	Revision string `json:"revision,omitempty"`

	// shortRevision is the revision with the first digits of its hash, for people.
	// +optional
	ShortRevision string `json:"shortRevision,omitempty"`

	// lastAttemptedRevision is the newest revision that was polled, good or not.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`

	// number of the revision that nodes follow. The pools of a revision are written first,
	// each with the next number; the write of this field is the moment at which all of them
	// count, and those that it drops.
	// +optional
	Number int64 `json:"number,omitempty"`

	// pools is the number of pools in the revision.
	// +optional
	Pools int32 `json:"pools"`

	// pruneBase is what a percentage in spec.pruneLimit is of, at the most: the
	// number of pools that the source had in the cluster when nothing was held
	// back. What a revision adds does not let it delete more.
	// +optional
	PruneBase int32 `json:"pruneBase,omitempty"`

	// blockedPrune is what is remembered of a prune that is blocked, so that it stays
	// blocked when some of its pools are deleted by hand. It is gone when the prune
	// is approved, spec.pruneLimit allows all of it, or none of the pools is missing
	// from the repository any more.
	// +optional
	BlockedPrune *BlockedPrune `json:"blockedPrune,omitempty"`

	// blockedRelease is the revision that is held back for its releases, so that it stays
	// so whatever becomes of its nodes, and of newer revisions that are not good. It is
	// gone when a revision is applied, and counts no more once spec.releaseLimit is
	// another one.
	// +optional
	BlockedRelease *BlockedRelease `json:"blockedRelease,omitempty"`

	// approvedPrune is what was deleted because somebody has approved the prune of the
	// revision. It is gone when pools are taken from another revision.
	// +optional
	ApprovedPrune *ApprovedPrune `json:"approvedPrune,omitempty"`

	// unowned is the number of pools that carry the name or the UID of this source,
	// that the revision lacks, and that this source has not applied itself. They are
	// never pruned.
	// +optional
	Unowned int32 `json:"unowned,omitempty"`

	// lastHandledPruneApproval is the value of the annotation
	// nodes.lailin.xyz/approvePrune that was used up last. It is set when every pool
	// whose deletion it approved is deleted, and counts for nothing from then on.
	// +optional
	LastHandledPruneApproval string `json:"lastHandledPruneApproval,omitempty"`

	// lastHandledReleaseApproval is the value of the annotation
	// nodes.lailin.xyz/approveRelease that was used up last. It is set when the
	// revision that it approved is applied, and counts for nothing from then on.
	// +optional
	LastHandledReleaseApproval string `json:"lastHandledReleaseApproval,omitempty"`

	// lastHandledReconcileAt is the value of the annotation
	// nodes.lailin.xyz/requestedAt that was acted on last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// webhookPath is the path of the URL at which the Git server asks for a poll. It
	// follows from the token and the name of the source.
	// +optional
	WebhookPath string `json:"webhookPath,omitempty"`
}

// MaxBlockedPrunePools is how many pools of a blocked prune are remembered by name.
// When there are more, all whose names come after these count as blocked.
const MaxBlockedPrunePools = 100

// BlockedPrune is a prune that was blocked and not approved since.
type BlockedPrune struct {
	// count is how many pools were missing from the repository when they were most.
	Count int32 `json:"count"`

	// pools are the names of those that are still in the cluster, sorted; no more
	// than the first 100.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Pools []string `json:"pools"`
}

// BlockedRelease is a revision that was held back for its releases and not approved since.
type BlockedRelease struct {
	// revision that was held back.
	Revision string `json:"revision"`

	// limit is the spec.releaseLimit by which it was.
	// +kubebuilder:validation:XIntOrString
	Limit intstr.IntOrString `json:"limit"`
}

// MaxApprovedPrunePools is how many pools of an approved prune are named.
const MaxApprovedPrunePools = 10

// ApprovedPrune is a prune that was approved.
type ApprovedPrune struct {
	// revision that was approved: the pools were missing there.
	Revision string `json:"revision"`

	// count is how many pools were deleted.
	Count int32 `json:"count"`

	// pools are their names; no more than the first 10.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Pools []string `json:"pools"`
}

// NodePoolSourceList is a list of NodePoolSources.
//
// +kubebuilder:object:root=true
type NodePoolSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodePoolSource `json:"items"`
}
