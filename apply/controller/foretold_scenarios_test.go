package controller

import "time"

// foretoldScenarios begin on Saturday 2027-03-27 at 12:00 UTC.
func foretoldScenarios() []*scenario { return append(steadyScenarios(), failureScenarios()...) }

// shortForm are those in which nodes fail, and every other one of the rest, but for those of
// which another one tests the same.
func shortForm() []*scenario {
	chosen := failureScenarios()
	for i, s := range steadyScenarios() {
		if i%2 == 1 && s.alike == "" {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

func steadyScenarios() []*scenario {
	var all []*scenario
	for _, some := range [][]*scenario{budgetScenarios(), waveScenarios(), windowScenarios(), nodeScenarios(), poolScenarios(), changeScenarios()} {
		all = append(all, some...)
	}
	return all
}

func budgetScenarios() []*scenario {
	return []*scenario{
		{name: "one at a time", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:20 n3"},
		{name: "two at a time", alike: "resumed", on: "n1 n2 n3 n4 n5", then: `p: {rollout: {maxUnavailable: 2, minReady: 15m}}`, happens: "Sat 12:00 n1 n2; Sat 12:15 n3 n4; Sat 12:30 n5"},
		{name: "half of five", on: "n1 n2 n3 n4 n5", then: `p: {rollout: {maxUnavailable: 50%, minReady: 20m}}`, happens: "Sat 12:00 n1 n2; Sat 12:20 n3 n4; Sat 12:40 n5"},
		{name: "a tenth of four is one", on: "n1 n2 n3 n4", then: `p: {rollout: {maxUnavailable: 10%, minReady: 30m}}`, happens: "Sat 12:00 n1; Sat 12:30 n2; Sat 13:00 n3; Sat 13:30 n4"},
		{name: "more than there are", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 7, minReady: 30m}}`, happens: "Sat 12:00 n1 n2 n3"},
		{name: "none", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 0}}`, happens: nothing},
		{name: "none, in percent", on: "n1 n2", then: `p: {rollout: {maxUnavailable: 0%, minReady: 1m}}`, happens: nothing},
		{name: "ready at once", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1}}`, happens: "Sat 12:00 n1 n2 n3"},
		{name: "no limit", on: "n1 n2 n3", then: `p: {rollout: {minReady: 10m}}`, happens: "Sat 12:00 n1 n2 n3"},
		{name: "paused", alike: "a stronger one is paused", on: "n1 n2", then: `p: {rollout: {paused: true, maxUnavailable: 1}}`, happens: nothing},
		{name: "seconds", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 61s}}`, happens: "Sat 12:00 n1; Sat 12:01:01 n2; Sat 12:02:02 n3"},
	}
}

func waveScenarios() []*scenario {
	return []*scenario{
		{name: "canary", on: "n1 n2 n3 n4", then: `p: {rollout: {waves: [{name: canary, nodes: 1, soak: 30m}]}}`, happens: "Sat 12:00 n1; Sat 12:30 n2 n3 n4"},
		{name: "waves in percent", on: "n1 n2 n3 n4 n5 n6 n7 n8", then: `p: {rollout: {waves: [{name: a, nodes: 10%, soak: 20m}, {name: b, nodes: 50%, soak: 40m}]}}`, happens: "Sat 12:00 n1; Sat 12:20 n2 n3 n4 n5; Sat 13:00 n6 n7 n8"},
		{name: "waves by zone", on: "n1/zone=b n2/zone=a n3/zone=b n4/zone=a n5/zone=c",
			then: `p: {rollout: {waves: [{name: a, selector: {matchLabels: {zone: a}}, soak: 1h}, {name: b, selector: {matchLabels: {zone: b}}, soak: 10m}]}}`, happens: "Sat 12:00 n2 n4; Sat 13:00 n1 n3; Sat 13:10 n5"},
		{name: "some of a zone", on: "n1/zone=b n2/zone=a n3/zone=a n4/zone=a",
			then: `p: {rollout: {waves: [{name: a, nodes: 2, selector: {matchLabels: {zone: a}}, soak: 30m}]}}`, happens: "Sat 12:00 n2 n3; Sat 12:30 n1 n4"},
		{name: "waves one at a time", on: "n1 n2 n3 n4 n5", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m, waves: [{name: a, nodes: 2, soak: 30m}]}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:40 n3; Sat 12:50 n4; Sat 13:00 n5"},
		{name: "ready later than soaked", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 1h, waves: [{name: a, nodes: 1, soak: 10m}]}}`, happens: "Sat 12:00 n1; Sat 13:00 n2; Sat 14:00 n3"},
		{name: "no soak", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1}, {name: b, nodes: 1}]}}`, happens: "Sat 12:00 n1 n2 n3"},
		{name: "approved at once", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, approval: Required}]}}`, happens: "Sat 12:00 n1 n2 n3"},
		{name: "approved after the soak", alike: "two approvals, both late", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, soak: 40m, approval: Required}]}}`, happens: "Sat 12:00 n1; Sat 12:40 n2 n3"},
		{name: "approved late", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, soak: 20m, approval: Required}]}}`, approvedAfter: 3 * time.Hour, late: 3 * time.Hour, happens: "Sat 12:00 n1; Sat 15:20 n2 n3"},
		{name: "two approvals, both late", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, approval: Required}, {name: b, nodes: 1, soak: 10m, approval: Required}]}}`, approvedAfter: 25 * time.Minute, late: 50 * time.Minute, happens: "Sat 12:00 n1; Sat 12:25 n2; Sat 13:00 n3"},
		{name: "never approved", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, approval: Required}]}}`, approvedAfter: -1, never: true, happens: "Sat 12:00 n1"},
		{name: "a wave of nobody", on: "n1 n2", then: `p: {rollout: {waves: [{name: a, selector: {matchLabels: {zone: none}}, soak: 30m}]}}`, happens: "Sat 12:00 n1 n2"},
		{name: "an approval of nobody", on: "n1 n2", then: `p: {rollout: {waves: [{name: a, selector: {matchLabels: {zone: none}}, approval: Required}]}}`, happens: "Sat 12:00 n1 n2"},
	}
}

func windowScenarios() []*scenario {
	const berlin = "timeZone: Europe/Berlin"
	return []*scenario{
		{name: "nightly", alike: "a cordoned one without turns", on: "n1 n2 n3", then: `p: {rollout: {windows: [{schedule: "0 22 * * *", duration: 2h}]}}`, happens: "Sat 22:00 n1 n2 n3"},
		{name: "open by now", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m, windows: [{schedule: "0 11 * * *", duration: 75m}]}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sun 11:00 n3"},
		{name: "closes by now", on: "n1 n2", then: `p: {rollout: {windows: [{schedule: "0 11 * * *", duration: 1h}]}}`, happens: "Sun 11:00 n1 n2"},
		{name: "over midnight", on: "n1 n2 n3 n4 n5", then: `p: {rollout: {maxUnavailable: 1, minReady: 20m, windows: [{schedule: "30 23 * * *", duration: 1h}]}}`, happens: "Sat 23:30 n1; Sat 23:50 n2; Sun 00:10 n3; Sun 23:30 n4; Sun 23:50 n5"},
		{name: "ready later than it closes", on: "n1 n2", then: `p: {rollout: {maxUnavailable: 1, minReady: 90m, windows: [{schedule: "0 14 * * *", duration: 1h}]}}`, happens: "Sat 14:00 n1; Sun 14:00 n2"},
		{name: "a start that clocks skip", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 25m, windows: [{schedule: "30 2 * * *", ` + berlin + `, duration: 1h}]}}`, happens: "Sun 01:00 n1; Sun 01:25 n2; Sun 01:50 n3"},
		{name: "while clocks go forward", on: "n1 n2 n3 n4 n5 n6", then: `p: {rollout: {maxUnavailable: 1, minReady: 40m, windows: [{schedule: "0 1 * * *", ` + berlin + `, duration: 3h}]}}`, happens: "Sun 00:00 n1; Sun 00:40 n2; Sun 01:20 n3; Sun 02:00 n4; Sun 02:40 n5; Sun 23:00 n6"},
		{name: "while clocks go back", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 25m, windows: [{schedule: "45 1 4 4 *", timeZone: Australia/Lord_Howe, duration: 1h}]}}`, happens: "Sat 14:45 n1; Sat 15:10 n2; Sat 15:35 n3"},
		{name: "an odd offset", on: "n1 n2", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m, windows: [{schedule: "15 13 * * *", timeZone: America/St_Johns, duration: 1h}]}}`, happens: "Sat 15:45 n1; Sat 15:55 n2"},
		{name: "excluded", on: "n1 n2", then: `p: {rollout: {exclusions: [{start: "2027-03-27T00:00:00Z", end: "2027-03-27T15:07:00Z", reason: sale}]}}`, happens: "Sat 15:07 n1 n2"},
		{name: "excluded while nodes follow", on: "n1 n2 n3 n4", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m, exclusions: [{schedule: "15 * * * *", duration: 30m}]}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:45 n3; Sat 12:55 n4"},
		{name: "the end of a window is excluded", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 30m, windows: [{schedule: "0 20 * * *", duration: 2h}], exclusions: [{schedule: "45 20 * * *", duration: 3h}]}}`, happens: "Sat 20:00 n1; Sat 20:30 n2; Sun 20:00 n3"},
		{name: "two windows", alike: "both have to be open", on: "n1 n2 n3 n4", then: `p: {rollout: {maxUnavailable: 1, minReady: 30m, windows: [{schedule: "0 14 * * *", duration: 40m}, {schedule: "0 18 * * *", duration: 40m}]}}`, happens: "Sat 14:00 n1; Sat 14:30 n2; Sat 18:00 n3; Sat 18:30 n4"},
		{name: "windows that overlap", on: "n1 n2 n3 n4", then: `p: {rollout: {maxUnavailable: 1, minReady: 30m, windows: [{schedule: "0 14 * * *", duration: 40m}, {schedule: "30 14 * * *", duration: 40m}]}}`, happens: "Sat 14:00 n1; Sat 14:30 n2; Sat 15:00 n3; Sun 14:00 n4"},
		{name: "soaked after it closes", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, soak: 2h}], windows: [{schedule: "0 13,16 * * *", duration: 1h}]}}`, happens: "Sat 13:00 n1; Sat 16:00 n2 n3"},
		{name: "approved while it is closed", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, approval: Required}], windows: [{schedule: "0 13,16 * * *", duration: 1h}]}}`, approvedAfter: 2 * time.Hour, late: 3 * time.Hour, happens: "Sat 13:00 n1; Sat 16:00 n2 n3"},
	}
}

func nodeScenarios() []*scenario {
	return []*scenario{
		{name: "by zone", alike: "zones within waves", on: "n1/zone=b n2/zone=a n3/zone=b n4/zone=a", then: `p: {rollout: {order: Zone, maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n2; Sat 12:10 n4; Sat 12:20 n1; Sat 12:30 n3"},
		{name: "by name", on: "n1/zone=b n2/zone=a n3/zone=b", then: `p: {rollout: {order: Name, maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:20 n3"},
		{name: "zones within waves", on: "n1/zone=b n2/zone=a n3/zone=b n4/zone=a", then: `p: {rollout: {order: Zone, maxUnavailable: 1, minReady: 10m, waves: [{name: a, nodes: 2, soak: 1h}]}}`, happens: "Sat 12:00 n2; Sat 12:10 n1; Sat 13:10 n4; Sat 13:20 n3"},
		{name: "the cordoned one is the only one", on: "n1 n2/cordoned n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: nothing},
		{name: "a cordoned one", on: "n1 n2/cordoned n3 n4", then: `p: {rollout: {maxUnavailable: 2, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n3; Sat 12:20 n4"},
		{name: "a cordoned canary", on: "n1/cordoned n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1}]}}`, happens: nothing},
		{name: "a cordoned one without turns", on: "n1/cordoned n2", then: `p: {rollout: {windows: [{schedule: "0 14 * * *", duration: 1h}]}}`, happens: "Sat 14:00 n1 n2"},
		{name: "a paused canary", on: "n1/paused n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1}]}}`, happens: nothing},
		{name: "a paused one", on: "n1 n2/paused n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n3"},
		{name: "one that is not ready", on: "n1 n2/unready n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: nothing},
		{name: "one of two that is not ready", alike: "one has failed, and may", on: "n1 n2/unready n3 n4", then: `p: {rollout: {maxUnavailable: 2, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n3; Sat 12:20 n4"},
	}
}

func poolScenarios() []*scenario {
	return []*scenario{
		{name: "two budgets on the same nodes", on: "n1 n2 n3 n4", then: `
p: {rollout: {maxUnavailable: 1, minReady: 10m}}
q: {rollout: {maxUnavailable: 2, minReady: 40m}}`, happens: "Sat 12:00 n1(p,q); Sat 12:10 n2(p,q); Sat 12:20 n3(p); Sat 12:30 n4(p); Sat 12:50 n3(q); Sat 13:00 n4(q)"},
		{name: "two budgets on some", on: "n1 n2 n3 n4 n5", then: `
p: {nodeNames: [$n1, $n2, $n3], rollout: {maxUnavailable: 1, minReady: 10m}}
q: {nodeNames: [$n3, $n4, $n5], rollout: {maxUnavailable: 1, minReady: 15m}}`, happens: "Sat 12:00 n1(p) n4(q); Sat 12:10 n2(p); Sat 12:15 n5(q); Sat 12:20 n3(p); Sat 12:30 n3(q)"},
		{name: "the budget of all", on: "n1 n2 n3 n4 n5 n6", first: `
all: {priority: 100}
p: {nodeNames: [$n1, $n2, $n3]}
q: {nodeNames: [$n4, $n5, $n6]}`, then: `
all: {priority: 100, labels: {example.com/$all: "1"}, rollout: {maxUnavailable: 1, minReady: 10m}}
p: {nodeNames: [$n1, $n2, $n3], rollout: {maxUnavailable: 2, minReady: 5m}}
q: {nodeNames: [$n4, $n5, $n6]}`, happens: "Sat 12:00 n1(p); Sat 12:10 n2(p); Sat 12:20 n3(p); Sat 12:30 n4(q); Sat 12:40 n5(q); Sat 12:50 n6(q)"},
		{name: "the window of all", on: "n1 n2 n3", first: `
all: {priority: 100}
p: {}`, then: `
all: {priority: 100, labels: {example.com/$all: "1"}, rollout: {windows: [{schedule: "0 14 * * *", duration: 30m}]}}
p: {rollout: {maxUnavailable: 1, minReady: 20m}}`, happens: "Sat 14:00 n1(p); Sat 14:20 n2(p); Sun 14:00 n3(p)"},
		{name: "a weaker one holds up nobody", on: "n1 n2", then: `
p: {priority: 1}
q: {rollout: {windows: [{schedule: "0 14 * * *", duration: 30m}]}}`, happens: "Sat 12:00 n1(p) n2(p); Sat 14:00 n1(q) n2(q)"},
		{name: "a stronger one is paused", on: "n1 n2", then: `
p: {priority: 1, rollout: {paused: true}}
q: {}`, happens: nothing},
		{name: "the one around it is closed", on: "n1 n2", then: `
p: {rollout: {windows: [{schedule: "0 14 * * *", duration: 30m}]}}
q: {parent: $p, priority: 5}`, happens: "Sat 14:00 n1(p,q) n2(p,q)"},
		{name: "both have to be open", on: "n1 n2 n3", then: `
p: {priority: 1, rollout: {windows: [{schedule: "0 14 * * *", duration: 1h}, {schedule: "0 18 * * *", duration: 1h}]}}
q: {rollout: {maxUnavailable: 1, minReady: 20m, windows: [{schedule: "30 14 * * *", duration: 3h}, {schedule: "30 17 * * *", duration: 1h}]}}`, happens: "Sat 14:00 n1(p) n2(p) n3(p); Sat 14:30 n1(q); Sat 14:50 n2(q); Sat 18:00 n3(q)"},
		{name: "two with waves", on: "n1 n2 n3 n4", then: `
p: {priority: 1, rollout: {waves: [{name: a, nodes: 1, soak: 20m}]}}
q: {rollout: {waves: [{name: b, nodes: 2, soak: 50m}]}}`, happens: "Sat 12:00 n1(p,q); Sat 12:20 n2(p,q) n3(p,q) n4(p,q)"},
		{name: "waves beside a budget", on: "n1 n2 n3 n4", then: `
p: {priority: 1, rollout: {maxUnavailable: 1, minReady: 10m}}
q: {nodeNames: [$n2, $n3, $n4], rollout: {waves: [{name: b, nodes: 1, soak: 50m}]}}`, happens: "Sat 12:00 n1(p); Sat 12:10 n2(p,q); Sat 12:20 n3(p); Sat 12:30 n4(p); Sat 13:00 n3(q); Sat 13:10 n4(q)"},
		{name: "none may, of the weaker", on: "n1 n2", then: `
p: {priority: 1, rollout: {maxUnavailable: 1, minReady: 10m}}
q: {rollout: {maxUnavailable: 0}}`, happens: "Sat 12:00 n1(p); Sat 12:10 n2(p)"},
		{name: "the canary of the stronger, behind for the weaker", on: "n1 n2", then: `
p: {priority: 1, rollout: {waves: [{name: a, nodes: 1, soak: 20m}]}}
q: {rollout: {maxUnavailable: 0}}`, happens: "Sat 12:00 n1(p); Sat 12:20 n2(p)"},
		{name: "none may, of the stronger", on: "n1 n2", then: `
p: {priority: 1, rollout: {maxUnavailable: 0}}
q: {rollout: {maxUnavailable: 1}}`, happens: nothing},
	}
}

func changeScenarios() []*scenario {
	const taint = `taints: [{key: example.com/$p, value: VALUE, effect: `
	return []*scenario{
		{name: "deleted at once", alike: "deleted in its window", on: "n1 n2", first: `p: {}`, then: `{}`, happens: "Sat 12:00 n1 n2"},
		{name: "deleted one at a time", on: "n1 n2 n3", first: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`, then: `{}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:20 n3"},
		{name: "deleted in its window", on: "n1 n2 n3", first: `p: {rollout: {windows: [{schedule: "0 14 * * *", duration: 30m}]}}`, then: `{}`, happens: "Sat 14:00 n1 n2 n3"},
		{name: "nodes leave", on: "n1 n2 n3 n4", first: `p: {}`, then: `p: {nodeNames: [$n1], labels: {example.com/$p: "1"}, rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n2; Sat 12:10 n3; Sat 12:20 n4"},
		{name: "nodes leave and others follow", on: "n1 n2 n3 n4", first: `p: {}`, then: `p: {nodeNames: [$n2, $n3], rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:20 n3; Sat 12:30 n4"},
		{name: "label and taint", on: "n1 n2 n3", then: `p: {labels: {example.com/$p: VALUE}, ` + taint + `NoSchedule}], rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:20 n3"},
		{name: "a taint comes", on: "n1 n2 n3", first: `p: {}`, then: `p: {labels: {example.com/$p: "1"}, ` + taint + `NoSchedule}], rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:20 n3"},
		{name: "a taint goes", on: "n1 n2 n3", first: `p: {labels: {example.com/$p: "1"}, ` + taint + `NoSchedule}]}`, then: `p: {labels: {example.com/$p: "1"}, rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:20 n3"},
		{name: "NoExecute", alike: "drained", on: "n1 n2 n3", first: `p: {}`, then: `p: {` + taint + `NoExecute}], rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n2; Sat 12:20 n3"},
		{name: "what disrupts nobody", on: "n1 n2", first: `p: {` + taint + `PreferNoSchedule}]}`, then: `p: {` + taint + `PreferNoSchedule}], rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: nothing},
		{name: "a new label", on: "n1 n2", first: `p: {}`, then: `p: {labels: {example.com/$p: "1", example.com/$new: "1"}, rollout: {paused: true}}`, happens: nothing},
		{name: "a new pool", on: "n1 n2 n3", first: `p: {}`, then: `
p: {labels: {example.com/$p: "1"}}
q: {` + `taints: [{key: example.com/$q, value: x, effect: NoSchedule}], rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1(q); Sat 12:10 n2(q); Sat 12:20 n3(q)"},
		{name: "RuntimeClasses in steps", on: "n1 n2 n3", first: `p: {handler: a, labels: {example.com/$p: "1"}}`, then: `p: {handler: b, rollout: {waves: [{name: a, nodes: 1, soak: 30m}]}}`, happens: "Sat 12:00 n1; Sat 12:30 n2 n3"},
		{name: "the rollout of before does not count", on: "n1 n2", first: `p: {rollout: {paused: true}}`, then: `p: {rollout: {maxUnavailable: 1, minReady: 10m}}`, happens: "Sat 12:00 n1; Sat 12:10 n2"},
		{name: "drained", on: "n1 n2 n3", first: `p: {}`, then: `p: {` + taint + `NoExecute}], rollout: {maxUnavailable: 1, minReady: 10m, drain: {timeout: 1h}}}`, happens: "Sat 12:00 n1; Sat 12:00:05 n1; Sat 12:10:05 n2; Sat 12:10:10 n2; Sat 12:20:10 n3; Sat 12:20:15 n3"},
	}
}

// failureScenarios are of nodes that fail, or could: n1, or n1 and n2, have begun to follow the
// second revision at 11:55.
func failureScenarios() []*scenario {
	const (
		two    = `rollout: {maxUnavailable: 2, minReady: 30m}`
		canary = `p: {rollout: {waves: [{name: canary, nodes: 1, soak: 30m}]}}`
		pid    = `nodeConditions: [{type: PIDPressure, status: "False"}]`
	)
	return []*scenario{
		{name: "a canary has failed", on: "n1/recovered n2 n3", second: canary, then: canary, happens: nothing},
		{name: "reverted", on: "n1/unready n2 n3 n4", second: `p: {` + two + `}`, then: `p: {labels: {example.com/$p: "1"}, ` + two + `}`, happens: "Sat 12:00 n1 n2"},
		{name: "another key", on: "n1/recovered n2 n3 n4", first: `p: {labels: {example.com/$p: "1", example.com/$p.x: "1"}}`,
			second: `p: {labels: {example.com/$p: "2", example.com/$p.x: "1"}, ` + two + `}`, then: `p: {labels: {example.com/$p: "2", example.com/$p.x: "2"}, ` + two + `}`, happens: "Sat 12:00 n1 n2; Sat 12:30 n3 n4"},
		{name: "resumed", on: "n1/recovered n2 n3 n4", second: `p: {` + two + `}`, then: `p: {` + two + `}`, resumed: []string{"p"}, happens: "Sat 12:25 n3 n4"},
		{name: "one has failed, and may not", on: "n1/unready n2 n3 n4", second: `p: {rollout: {maxUnavailable: 2, minReady: 30m, maxFailures: 1}}`, then: `p: {` + two + `}`, happens: nothing},
		{name: "one has failed, and may", on: "n1/unready n2 n3 n4", second: `p: {rollout: {maxUnavailable: 2, minReady: 30m, maxFailures: 1}}`,
			then: `p: {rollout: {maxUnavailable: 2, minReady: 30m, maxFailures: 1, order: Name}}`, happens: "Sat 12:25 n3; Sat 12:55 n4"},
		{name: "a condition", on: "n1 n2/PIDPressure=True n3 n4", then: `p: {rollout: {maxUnavailable: 2, minReady: 10m, ` + pid + `}}`, happens: "Sat 12:00 n1; Sat 12:10 n3; Sat 12:20 n4"},
		{name: "failed by a condition", on: "n1/PIDPressure=True n2 n3 n4", second: `p: {rollout: {maxUnavailable: 2, minReady: 30m, maxFailures: 1, ` + pid + `}}`,
			then: `p: {rollout: {maxUnavailable: 2, minReady: 30m, ` + pid + `}}`, happens: nothing},
		{name: "drained one after the other", on: "n1 n2 n3", first: `p: {}`, then: `p: {taints: [{key: example.com/$p, value: VALUE, effect: NoExecute}], rollout: {maxUnavailable: 1, drain: {timeout: 1h}}}`,
			happens: "Sat 12:00 n1; Sat 12:00:05 n1 n2; Sat 12:00:10 n2 n3; Sat 12:00:15 n3"},
	}
}

// lateScenarios are of a revision that is applied at 13:30.
func lateScenarios() []*scenario {
	return []*scenario{
		{name: "one at a time", on: "n1 n2 n3", then: `p: {rollout: {maxUnavailable: 1, minReady: 11m}}`, happens: "Sat 13:30 n1; Sat 13:41 n2; Sat 13:52 n3"},
		{name: "without turns", on: "n1 n2", then: `p: {}`, happens: "Sat 13:30 n1 n2"},
		{name: "canary", on: "n1 n2 n3", then: `p: {rollout: {waves: [{name: a, nodes: 1, soak: 30m, approval: Required}]}}`, happens: "Sat 13:30 n1; Sat 14:00 n2 n3"},
		{name: "a window that is over by then", on: "n1 n2", then: `p: {rollout: {windows: [{schedule: "0 13,23 * * *", duration: 30m}]}}`, happens: "Sat 23:00 n1 n2"},
		{name: "a window that is open by then", on: "n1 n2", then: `p: {rollout: {maxUnavailable: 1, minReady: 20m, windows: [{schedule: "0 13 * * *", duration: 45m}]}}`, happens: "Sat 13:30 n1; Sun 13:00 n2"},
		{name: "deleted", on: "n1 n2", first: `p: {rollout: {maxUnavailable: 1, minReady: 11m}}`, then: `{}`, happens: "Sat 13:30 n1; Sat 13:41 n2"},
	}
}

// newNodeScenarios are on nodes that came a moment ago, and have followed the pools of then.
func newNodeScenarios() []*scenario {
	const q = `taints: [{key: example.com/$q, value: x, effect: NoSchedule}]`
	return []*scenario{
		{name: "a new pool that is paused", joins: []string{"q"}, on: "n1 n2 n3", first: `p: {}`, then: `
p: {rollout: {maxUnavailable: 1, minReady: 11m}}
q: {` + q + `, rollout: {paused: true}}`},
		{name: "a new pool with waves", joins: []string{"q"}, on: "n1 n2 n3", first: `p: {}`, then: `
p: {rollout: {waves: [{name: a, nodes: 1, soak: 20m}]}}
q: {` + q + `, rollout: {waves: [{name: a, nodes: 1, soak: 1h}]}}`},
	}
}
