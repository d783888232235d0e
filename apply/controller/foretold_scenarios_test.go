package controller

import "time"

// foretoldScenarios begin on Saturday 2027-03-27 at 12:00 UTC.
func foretoldScenarios() []*scenario {
	var all []*scenario
	for _, some := range [][]*scenario{budgetScenarios(), waveScenarios(), windowScenarios(), nodeScenarios(), poolScenarios(), changeScenarios()} {
		all = append(all, some...)
	}
	return all
}

func budgetScenarios() []*scenario {
	return []*scenario{
		{name: "one at a time", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "two at a time", on: "n1 n2 n3 n4 n5", then: `p: {rollout: {maxUnavailable: 2, minReady: 15m}}`},
		{name: "half of five", on: "n1 n2 n3 n4 n5", then: `p: {rollout: {maxUnavailable: 50%, minReady: 20m}}`},
		{name: "a tenth of four is one", on: "n1 n2 n3 n4", then: `p: {rollout: {maxUnavailable: 10%, minReady: 30m}}`},
		{name: "more than there are", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 7, minReady: 30m}}`},
		{name: "none", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 0}}`},
		{name: "none, in percent", on: "n1 n2", then: `p: {rollout: {maxUnavailable: 0%, minReady: 1m}}`},
		{name: "ready at once", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1}}`},
		{name: "no limit", on: "n1 n2 n3", then: `p: {rollout: {minReady: 10m}}`},
		{name: "paused", on: "n1 n2", then: `p: {rollout: {paused: true, maxUnavailable: 1}}`},
		{name: "seconds", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 61s}}`},
	}
}

func waveScenarios() []*scenario {
	return []*scenario{
		{name: "canary", on: "n1 n2 n3 n4", then: `p: {rollout: {waves: [{name: canary, nodes: 1, soak: 30m}]}}`},
		{name: "waves in percent", on: "n1 n2 n3 n4 n5 n6 n7 n8", then: `p: {rollout: {waves: [{name: a, nodes: 10%, soak: 20m}, {name: b, nodes: 50%, soak: 40m}]}}`},
		{name: "waves by zone", on: "n1/zone=b n2/zone=a n3/zone=b n4/zone=a n5/zone=c",
			then: `p: {rollout: {waves: [{name: a, selector: {matchLabels: {zone: a}}, soak: 1h}, {name: b, selector: {matchLabels: {zone: b}}, soak: 10m}]}}`},
		{name: "some of a zone", on: "n1/zone=b n2/zone=a n3/zone=a n4/zone=a",
			then: `p: {rollout: {waves: [{name: a, nodes: 2, selector: {matchLabels: {zone: a}}, soak: 30m}]}}`},
		{name: "waves one at a time", on: "n1 n2 n3 n4 n5", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m, waves: [{name: a, nodes: 2, soak: 30m}]}}`},
		{name: "ready later than soaked", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 1h, waves: [{name: a, nodes: 1, soak: 10m}]}}`},
		{name: "no soak", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1}, {name: b, nodes: 1}]}}`},
		{name: "approved at once", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, approval: Required}]}}`},
		{name: "approved after the soak", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, soak: 40m, approval: Required}]}}`},
		{name: "approved late", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, soak: 20m, approval: Required}]}}`, approvedAfter: 3 * time.Hour, late: 3 * time.Hour},
		{name: "two approvals, both late", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, approval: Required}, {name: b, nodes: 1, soak: 10m, approval: Required}]}}`, approvedAfter: 25 * time.Minute, late: 50 * time.Minute},
		{name: "never approved", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, approval: Required}]}}`, approvedAfter: -1, never: true},
		{name: "a wave of nobody", on: "n1 n2", then: `p: {rollout: {waves: [{name: a, selector: {matchLabels: {zone: none}}, soak: 30m}]}}`},
		{name: "an approval of nobody", on: "n1 n2", then: `p: {rollout: {waves: [{name: a, selector: {matchLabels: {zone: none}}, approval: Required}]}}`},
	}
}

func windowScenarios() []*scenario {
	const berlin = "timeZone: Europe/Berlin"
	return []*scenario{
		{name: "nightly", on: "n1 n2 n3", then: `p: {rollout: {windows: [{schedule: "0 22 * * *", duration: 2h}]}}`},
		{name: "open by now", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m, windows: [{schedule: "0 11 * * *", duration: 75m}]}}`},
		{name: "closes by now", on: "n1 n2", then: `p: {rollout: {windows: [{schedule: "0 11 * * *", duration: 1h}]}}`},
		{name: "over midnight", on: "n1 n2 n3 n4 n5", then: `p: {rollout: {maxUnavailable: 1, minReady: 20m, windows: [{schedule: "30 23 * * *", duration: 1h}]}}`},
		{name: "ready later than it closes", on: "n1 n2", then: `p: {rollout: {maxUnavailable: 1, minReady: 90m, windows: [{schedule: "0 14 * * *", duration: 1h}]}}`},
		{name: "a start that clocks skip", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 25m, windows: [{schedule: "30 2 * * *", ` + berlin + `, duration: 1h}]}}`},
		{name: "while clocks go forward", on: "n1 n2 n3 n4 n5 n6", then: `p: {rollout: {maxUnavailable: 1, minReady: 40m, windows: [{schedule: "0 1 * * *", ` + berlin + `, duration: 3h}]}}`},
		{name: "while clocks go back", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 25m, windows: [{schedule: "45 1 4 4 *", timeZone: Australia/Lord_Howe, duration: 1h}]}}`},
		{name: "an odd offset", on: "n1 n2", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m, windows: [{schedule: "15 13 * * *", timeZone: America/St_Johns, duration: 1h}]}}`},
		{name: "excluded", on: "n1 n2", then: `p: {rollout: {exclusions: [{start: "2027-03-27T00:00:00Z", end: "2027-03-27T15:07:00Z", reason: sale}]}}`},
		{name: "excluded while nodes follow", on: "n1 n2 n3 n4", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m, exclusions: [{schedule: "15 * * * *", duration: 30m}]}}`},
		{name: "the end of a window is excluded", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 30m, windows: [{schedule: "0 20 * * *", duration: 2h}], exclusions: [{schedule: "45 20 * * *", duration: 3h}]}}`},
		{name: "two windows", on: "n1 n2 n3 n4", then: `p: {rollout: {maxUnavailable: 1, minReady: 30m, windows: [{schedule: "0 14 * * *", duration: 40m}, {schedule: "0 18 * * *", duration: 40m}]}}`},
		{name: "windows that overlap", on: "n1 n2 n3 n4", then: `p: {rollout: {maxUnavailable: 1, minReady: 30m, windows: [{schedule: "0 14 * * *", duration: 40m}, {schedule: "30 14 * * *", duration: 40m}]}}`},
		{name: "soaked after it closes", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, soak: 2h}], windows: [{schedule: "0 13,16 * * *", duration: 1h}]}}`},
		{name: "approved while it is closed", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, approval: Required}], windows: [{schedule: "0 13,16 * * *", duration: 1h}]}}`, approvedAfter: 2 * time.Hour, late: 3 * time.Hour},
	}
}

func nodeScenarios() []*scenario {
	return []*scenario{
		{name: "by zone", on: "n1/zone=b n2/zone=a n3/zone=b n4/zone=a", then: `p: {rollout: {order: Zone, maxUnavailable: 1, minReady: 10m}}`},
		{name: "by name", on: "n1/zone=b n2/zone=a n3/zone=b", then: `p: {rollout: {order: Name, maxUnavailable: 1, minReady: 10m}}`},
		{name: "zones within waves", on: "n1/zone=b n2/zone=a n3/zone=b n4/zone=a", then: `p: {rollout: {order: Zone, maxUnavailable: 1, minReady: 10m, waves: [{name: a, nodes: 2, soak: 1h}]}}`},
		{name: "the cordoned one is the only one", on: "n1 n2/cordoned n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "a cordoned one", on: "n1 n2/cordoned n3 n4", then: `p: {rollout: {maxUnavailable: 2, minReady: 10m}}`},
		{name: "a cordoned canary", on: "n1/cordoned n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1}]}}`},
		{name: "a cordoned one without turns", on: "n1/cordoned n2", then: `p: {rollout: {windows: [{schedule: "0 14 * * *", duration: 1h}]}}`},
		{name: "a paused canary", on: "n1/paused n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1}]}}`},
		{name: "a paused one", on: "n1 n2/paused n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "one that is not ready", on: "n1 n2/unready n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`, never: true},
		{name: "one of two that is not ready", on: "n1 n2/unready n3 n4", then: `p: {rollout: {maxUnavailable: 2, minReady: 10m}}`, late: 10 * time.Minute, never: true},
	}
}

func poolScenarios() []*scenario {
	return []*scenario{
		{name: "two budgets on the same nodes", on: "n1 n2 n3 n4", then: `
p: {rollout: {maxUnavailable: 1, minReady: 10m}}
q: {rollout: {maxUnavailable: 2, minReady: 40m}}`},
		{name: "two budgets on some", on: "n1 n2 n3 n4 n5", then: `
p: {nodeNames: [$n1, $n2, $n3], rollout: {maxUnavailable: 1, minReady: 10m}}
q: {nodeNames: [$n3, $n4, $n5], rollout: {maxUnavailable: 1, minReady: 15m}}`},
		{name: "the budget of all", on: "n1 n2 n3 n4 n5 n6", first: `
all: {priority: 100}
p: {nodeNames: [$n1, $n2, $n3]}
q: {nodeNames: [$n4, $n5, $n6]}`, then: `
all: {priority: 100, labels: {example.com/$all: "1"}, rollout: {maxUnavailable: 1, minReady: 10m}}
p: {nodeNames: [$n1, $n2, $n3], rollout: {maxUnavailable: 2, minReady: 5m}}
q: {nodeNames: [$n4, $n5, $n6]}`},
		{name: "the window of all", on: "n1 n2 n3", first: `
all: {priority: 100}
p: {}`, then: `
all: {priority: 100, labels: {example.com/$all: "1"}, rollout: {windows: [{schedule: "0 14 * * *", duration: 30m}]}}
p: {rollout: {maxUnavailable: 1, minReady: 20m}}`},
		{name: "a weaker one holds up nobody", on: "n1 n2", then: `
p: {priority: 1}
q: {rollout: {windows: [{schedule: "0 14 * * *", duration: 30m}]}}`},
		{name: "a stronger one is paused", on: "n1 n2", then: `
p: {priority: 1, rollout: {paused: true}}
q: {}`},
		{name: "the one around it is closed", on: "n1 n2", then: `
p: {rollout: {windows: [{schedule: "0 14 * * *", duration: 30m}]}}
q: {parent: $p, priority: 5}`},
		{name: "both have to be open", on: "n1 n2 n3", then: `
p: {priority: 1, rollout: {windows: [{schedule: "0 14 * * *", duration: 1h}, {schedule: "0 18 * * *", duration: 1h}]}}
q: {rollout: {maxUnavailable: 1, minReady: 20m, windows: [{schedule: "30 14 * * *", duration: 3h}, {schedule: "30 17 * * *", duration: 1h}]}}`},
		{name: "two with waves", on: "n1 n2 n3 n4", then: `
p: {priority: 1, rollout: {waves: [{name: a, nodes: 1, soak: 20m}]}}
q: {rollout: {waves: [{name: b, nodes: 2, soak: 50m}]}}`},
		{name: "waves beside a budget", on: "n1 n2 n3 n4", then: `
p: {priority: 1, rollout: {maxUnavailable: 1, minReady: 10m}}
q: {nodeNames: [$n2, $n3, $n4], rollout: {waves: [{name: b, nodes: 1, soak: 50m}]}}`},
		{name: "none may, of the stronger", on: "n1 n2", then: `
p: {priority: 1, rollout: {maxUnavailable: 0}}
q: {rollout: {maxUnavailable: 1}}`},
	}
}

func changeScenarios() []*scenario {
	const taint = `taints: [{key: example.com/$p, value: VALUE, effect: `
	return []*scenario{
		{name: "deleted at once", on: "n1 n2", first: `p: {}`, then: `{}`},
		{name: "deleted one at a time", on: "n1 n2 n3", first: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`, then: `{}`},
		{name: "deleted in its window", on: "n1 n2 n3", first: `p: {rollout: {windows: [{schedule: "0 14 * * *", duration: 30m}]}}`, then: `{}`},
		{name: "nodes leave", on: "n1 n2 n3 n4", first: `p: {}`, then: `p: {nodeNames: [$n1], labels: {example.com/$p: "1"}, rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "nodes leave and others follow", on: "n1 n2 n3 n4", first: `p: {}`, then: `p: {nodeNames: [$n2, $n3], rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "label and taint", on: "n1 n2 n3", then: `p: {labels: {example.com/$p: VALUE}, ` + taint + `NoSchedule}], rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "a taint comes", on: "n1 n2 n3", first: `p: {}`, then: `p: {labels: {example.com/$p: "1"}, ` + taint + `NoSchedule}], rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "a taint goes", on: "n1 n2 n3", first: `p: {labels: {example.com/$p: "1"}, ` + taint + `NoSchedule}]}`, then: `p: {labels: {example.com/$p: "1"}, rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "NoExecute", on: "n1 n2 n3", first: `p: {}`, then: `p: {` + taint + `NoExecute}], rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "what disrupts nobody", on: "n1 n2", first: `p: {` + taint + `PreferNoSchedule}]}`, then: `p: {` + taint + `PreferNoSchedule}], rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "a new label", on: "n1 n2", first: `p: {}`, then: `p: {labels: {example.com/$p: "1", example.com/$new: "1"}, rollout: {paused: true}}`},
		{name: "a new pool", on: "n1 n2 n3", first: `p: {}`, then: `
p: {labels: {example.com/$p: "1"}}
q: {` + `taints: [{key: example.com/$q, value: x, effect: NoSchedule}], rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "RuntimeClasses in steps", on: "n1 n2 n3", first: `p: {handler: a, labels: {example.com/$p: "1"}}`, then: `p: {handler: b, rollout: {waves: [{name: a, nodes: 1, soak: 30m}]}}`},
		{name: "the rollout of before does not count", on: "n1 n2", first: `p: {rollout: {paused: true}}`, then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`},
		{name: "drained", on: "n1 n2 n3", first: `p: {}`, then: `p: {` + taint + `NoExecute}], rollout: {maxUnavailable: 1, minReady: 10m, drain: {timeout: 1h}}}`, late: 10 * time.Second},
	}
}
