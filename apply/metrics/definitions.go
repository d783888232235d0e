package metrics

import (
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/command"
)

// Type is what a metric is to Prometheus.
type Type string

// The types of metrics.
const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Definition is what there is to know of a metric.
type Definition struct {
	Name string
	Type Type
	// Help is one sentence or two; the first names the unit.
	Help string
	// Labels are in the order in which values are given.
	Labels []string
	// OfLeader is true where only the instance reports it that works.
	OfLeader bool
}

// Definitions returns all metrics of the controller, in the order of their names.
func Definitions() []Definition {
	all := make([]Definition, 0, len(definitions))
	for _, definition := range definitions {
		all = append(all, *definition)
	}
	slices.SortFunc(all, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// definitions are those that were made by define.
var definitions []*Definition

func define(name string, kind Type, help string, labels ...string) *Definition {
	made := &Definition{Name: "nodepools_" + name, Type: kind, Help: help, Labels: labels}
	definitions = append(definitions, made)
	return made
}

// ofLeader is a gauge that only the instance reports that works.
func ofLeader(name, help string, labels ...string) *Definition {
	made := define(name, Gauge, help, labels...)
	made.OfLeader = true
	return made
}

// Metrics of the process.
var (
	buildInfo = define("build_info", Gauge,
		"Always 1. The labels have the version and the commit of the program, and the version of Go.",
		"version", "commit", "go_version")
	leader = define("leader", Gauge,
		"1 where this instance works, as it holds the lease or needs none, and 0 where it stands by.")
	webhookRequests = define("webhook_requests_total", Counter,
		"Number of requests to the webhook, by the status code of the answer; 202 is one that has asked for a poll.",
		"code")
)

// Metrics of the state of the cluster.
var (
	statusCondition = ofLeader("status_condition",
		"Always 1. There is one for each condition of a NodePool or a NodePoolSource, with the status and the reason that it has now.",
		"kind", "name", "type", "status", "reason")
	poolNodes = ofLeader("pool_nodes",
		"Number of nodes of a pool by state: desired are its members, updated those that carry all of it, ready the updated ones that are Ready, conflicted those with a key that is somebody else's, as "+command.ListPools()+" shows them; failing are those that could not be read or written, or are paused.",
		"pool", "state")
	poolConflicts = ofLeader("pool_conflicts",
		"Number of labels, annotations and taints that a pool does not get, on all of its nodes together.", "pool")
	rolloutNodes = ofLeader("rollout_nodes",
		"Number of nodes of a pool by how far they are in following changes. waiting are those on which changes of the pool wait for a window, or for the turn of the node, in its own rollout or in that of another pool; draining those from which pods are evicted before they get NoExecute taints of it. Both are absent where no pool has a rollout. following have begun to follow a change, and are yet to be written, are drained, or were written less than minReady ago; unavailable count against maxUnavailable, whatever has made them so, the following ones among them; failed have followed a change of which more waits, and are not ready. These three are those of the pools in whose rollouts nodes take turns, and absent while no change waits.",
		"pool", "state")
	rolloutHalted = ofLeader("rollout_halted",
		"1 where the rollout of a pool is halted, as nodes that have followed a change have failed, and nobody has resumed it, and 0 where it is not. Absent of pools without a rollout.", "pool")
	rolloutWave = ofLeader("rollout_wave_info",
		"Always 1. The label has the wave of a rollout that follows, or that is waited for; rest is that of the nodes that are in none. Absent where the pool has no waves, or all nodes have followed.", "pool", "wave")
	rolloutWindowOpen = ofLeader("rollout_window_open",
		"1 where nodes may follow changes of a pool now, by its own windows and exclusions, and 0 where they may not. Absent of pools without any.", "pool")
	recordsUnreadable = ofLeader("records_unreadable",
		"Number of nodes that are left alone because their record, the annotation nodes.lailin.xyz/applied, cannot be read.")
	nodesPending = ofLeader("nodes_pending",
		"Number of nodes that a change concerns and that are not up to date yet.")
	nodesPendingOldest = ofLeader("nodes_pending_oldest_seconds",
		"Seconds for which the node that waits longest has not been up to date; 0 where none waits.")
)

// Metrics of writes. Their counts are those of this process.
var (
	nodeWrites = define("node_writes_total", Counter,
		"Number of writes of nodes by action and result. Actions: repair puts back what somebody else has changed, release takes everything of a pool off, update is any other. Results: success, conflict (somebody else was faster; repeated at once), gone (the node is deleted), throttled (the API server asks to come back later), refused (the API server does not take it), error (any other).",
		"action", "result")
	nodeConvergence = define("node_convergence_seconds", Histogram,
		"Seconds from when the controller learns of a change until a node that it concerns is written, by cause: join is a node that has come, change one that was changed, pool a pool that was changed.",
		"cause")
	evictions = define("evictions_total", Counter,
		"Number of evictions of pods that were asked for before nodes get NoExecute taints of a pool, by result; where several pools bring such taints, it is counted for each. Results: success, blocked (a PodDisruptionBudget does not allow it now, and it is asked for again), gone (the pod has gone meanwhile), error (any other; asked for again).",
		"pool", "result")
	driftRepairs = define("drift_repairs_total", Counter,
		"Number of labels, annotations and taints of a pool that were put back after somebody else had changed them.",
		"pool")
)

// Metrics of sources.
var (
	sourcePolls = define("source_polls_total", Counter,
		"Number of polls of a repository by result and reason. Results: unchanged, changed (a new revision is valid), refused (a new revision is not valid), failed (the repository could not be read). The reason is Succeeded, or that of the condition.",
		"source", "result", "reason")
	sourcePollDuration = define("source_poll_duration_seconds", Histogram,
		"Seconds that a poll of a repository takes, with what is fetched and checked in it.")
	sourceFetchedBytes = define("source_fetched_bytes_total", Counter,
		"Number of bytes that were received from the server of a repository.", "source")
	sourceLastSuccess = ofLeader("source_last_success_timestamp_seconds",
		"Unix time in seconds of the last poll in which the repository answered. Absent where there was none since the controller started, and while the source is suspended or paused.",
		"source")
	sourceInterval = ofLeader("source_interval_seconds",
		"Seconds from one poll of a repository to the next, by spec.interval. Absent while the source is suspended or paused.",
		"source")
	sourceRevision = ofLeader("source_revision_info",
		"Always 1. The label has the revision that the pools in the cluster are taken from.", "source", "revision")
	sourcePools = ofLeader("source_pools",
		"Number of pools in the revision that is applied.", "source")
	sourcePruneHeld = ofLeader("source_prune_held",
		"Number of pools that are no longer in the repository, and are kept until somebody approves their deletion.", "source")
	sourceCredentialExpiry = ofLeader("source_credential_expiry_timestamp_seconds",
		"Unix time in seconds at which the client certificate in the Secret of a source expires. Absent where there is none: of other credentials the controller does not know it, and tokens that it gets for itself are renewed in time.",
		"source")
)
