package main

import (
	"maps"
	"slices"
	"strings"
)

// area is what depends on the version of Kubernetes in one respect.
type area struct {
	name string
	// holds is what its tests show, for the documentation.
	holds string
	// tests are those of each package, by its folder. Of one with a slash, the subtest is
	// meant. Those in short are also run by make test, on the oldest version.
	tests, short map[string]string
}

const (
	commands   = "cmd/nodepools"
	reconciler = "apply/controller"
	installed  = "api/manifests"
	upgraded   = "testdata/upgrades"
)

var areas = []area{
	{
		name:  "install",
		holds: "the API server takes what `install`, the Helm chart, the bundle and the examples hold; the rights suffice, and none is spare; `doctor` judges the installation, and `uninstall` leaves nothing behind",
		short: map[string]string{
			commands: "TestClusterScripts/install",
		},
		tests: map[string]string{
			commands:               "TestShippedRightsAreJustEnough TestChartInACluster TestDoctorInACluster TestUninstallPlanLeavesNothing TestViewerMayOnlyLook",
			"examples":             "TestTheAPIServerTakesEveryManifest",
			"api/manifests/bundle": "TestAPIServerTakesTheBundle",
		},
	},
	{
		name:  "validation",
		holds: "the API server refuses the pools and sources that `validate` refuses, and no other; it fills in defaults, and keeps taking objects from before a rule",
		short: map[string]string{
			reconciler: "TestAPIServerJudgesPoolsAsWeDo TestAPIServerJudgesSources TestAPIServerFillsInSources",
		},
		tests: map[string]string{
			reconciler: "TestPoolsOlderThanTheRulesOfMembership TestAPIServerJudgesNodeNamesAsWeDo TestColumnsAndShortNames",
		},
	},
	{
		name:  "nodes",
		holds: "labels, annotations, taints and the record are written by server-side apply, and nothing of others is lost, however writes race; a dry run asks the API server",
		short: map[string]string{
			reconciler: "TestLifeOfAPool TestForeignKeysAreUntouched TestConflictPolicies TestNoNodeIsEverCreated",
		},
		tests: map[string]string{
			reconciler: "TestLabelThatSomebodyElseAppliesStays TestConflictNamesWhoSetTheValue TestEntryTakenOutOfTheRecordStays TestNodeComesBackUnderTheSameName TestHandMadeChangeIsPutBack TestRaceLosesNothingOfOthers TestRacePlainForcedApplyLoses",
			commands:   "TestServerSideIsADryRun TestServerSideReportsRefusals TestClusterScripts/explain TestClusterScripts/contest",
			upgraded:   "TestUpgrade",
		},
	},
	{
		name:  "policies",
		holds: "the admission policies keep kubelets and others from writing records and status, and hinder nobody else",
		short: map[string]string{
			installed: "TestWhoMayWriteOurDomain TestAKubeletCannotWriteOurDomain TestAKubeletDoesItsWorkUnderThePolicy TestWhoMayWriteAStatus",
		},
		tests: map[string]string{
			installed:  "TestAKubeletCannotBringOurDomainWithItsNode TestThePolicyHoldsOnFullNodes TestThePolicyIsNotDeceivedByValues TestThePolicyMatchesEveryWriteOfANode",
			reconciler: "TestANodeCannotDrawThePodsOfAPool TestKubeletsMaySetWhatWeWarnOf",
			commands:   "TestAQuarantinedNodeStaysSetApart TestANodeCannotAvoidQuarantine",
		},
	},
	{
		name:  "RuntimeClasses",
		holds: "they are made, replaced and removed; the scheduler places pods by them",
		short: map[string]string{
			reconciler: "TestChangedHandlerReplacesTheRuntimeClass TestGitPodsFollow",
		},
		tests: map[string]string{
			reconciler: "TestForeignRuntimeClassIsLeftAlone TestTolerationsGoFromTheRuntimeClass TestInnerRuntimeClassFollowsOuterPool TestRefusedHandlerKeepsTheRuntimeClass TestInterruptedReplacementLosesNothing TestHandMadeChangeOfARuntimeClassIsPutBack",
			"examples": "TestPodNamesAPool TestTenantsAreWalls",
		},
	},
	{
		name:  "sources",
		holds: "pools follow a repository; what is gone from there is pruned within its limits, and finalizers release nodes",
		short: map[string]string{
			reconciler: "TestGitLifeOfAPool TestGitPruneLimit",
		},
		tests: map[string]string{
			reconciler: "TestGitApprovedPruneHappensOnce TestGitDeletedSourceTakesItsPoolsAlong TestGitReleaseWaitsForAnApproval TestGitDriftOfPools TestGitRefusedByTheServer TestFinalizerIsPutBack TestPoolDeletedWhileTheLoopsAreDown TestPoolVanishesWithoutItsFinalizer",
		},
	},
	{
		name:  "drains",
		holds: "pods are evicted as budgets allow, nodes take turns, and a bad change stops; what `diff` says of pods is what happens to them",
		short: map[string]string{
			reconciler: "TestEvictions TestFailedCanaryHaltsTheRollout",
		},
		tests: map[string]string{
			reconciler:             "TestNodesAreDrainedBeforeTheirTaints TestNodesTakeTurns TestDrainWaitsForBudgets",
			"apply/preview/impact": "TestImpactEqualsReality TestBlockedDrainsEqualReality",
			commands:               "TestRolloutRightsAreJustEnough",
		},
	},
	{
		name:  "caches",
		holds: "nodes are listed and watched, and in steady state nothing is written; the API server says who may read the metrics",
		short: map[string]string{
			reconciler: "TestNoRelistWhenWatchesEnd",
		},
		tests: map[string]string{
			reconciler:             "TestSteadyStateCostsNoWrite TestStartCostsNoWrite",
			"apply/nodecache":      "TestCacheReadsNoMoreThanItKeeps TestRecallIsSharedByWatches",
			"apply/metrics/access": "TestGuard",
			commands:               "TestMetricsOverTLS",
		},
	},
}

// named is a test, and where it belongs.
type named struct{ area, folder, name string }

// testsOf returns all tests, in the order of areas, or those of the short form.
func testsOf(short bool) []named {
	var all []named
	for _, a := range areas {
		sets := []map[string]string{a.short}
		if !short {
			sets = append(sets, a.tests)
		}
		for _, set := range sets {
			for _, folder := range slices.Sorted(maps.Keys(set)) {
				for _, name := range strings.Fields(set[folder]) {
					all = append(all, named{a.name, folder, name})
				}
			}
		}
	}
	return all
}

// pattern selects tests as -run takes it.
func pattern(tests []named) string {
	var all []string
	for _, t := range tests {
		all = append(all, "^"+strings.ReplaceAll(t.name, "/", "$/^")+"$")
	}
	return strings.Join(all, "|")
}
