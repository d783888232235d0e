package plan

import "testing"

func TestEntriesOfARecord(t *testing.T) {
	const labels = `{"version":1,"pools":{"a":{"labels":{"l":"1"}}}`
	mustParse(t, map[string]parsing{
		"all": {"every field, and every form of an entry", whole.String(), whole, ""},
		"nothing left of a pool": {
			"somebody has taken entries out by hand; what is not named is not ours",
			`{"version":1,"pools":{"a":{"labels":{}},"b":{}},"before":{},"adopted":{"taints":{}}}`, Record{}, "",
		},
		"cut off":              {"half a record is none", labels, Record{}, "not a record"},
		"unknown field":        {"half understood is not understood", labels + `,"roles":{}}`, Record{}, `unknown field "roles"`},
		"unknown in a pool":    {"the same in a pool", `{"version":1,"pools":{"a":{"roles":{}}}}`, Record{}, `unknown field "pools.a.roles"`},
		"unknown in before":    {"the same in what was before", labels + `,"before":{"roles":{}}}`, Record{}, `unknown field "before.roles"`},
		"object as value":      {"no value is an object", `{"version":1,"pools":{"a":{"labels":{"l":{"pool":"a","value":"1"}}}}}`, Record{}, "misplaced object, up to byte"},
		"field in capitals":    {"encoding/json would take it for the other and drop one", labels + `,"Pools":{}}`, Record{}, `unknown field "Pools"`},
		"key twice":            {"which value is ours", `{"version":1,"pools":{"a":{"labels":{"l":"1","l":"2"}}}}`, Record{}, `duplicate field "pools.a.labels.l"`},
		"taint twice":          {"which value is ours", `{"version":1,"pools":{"a":{"taints":{"t:NoSchedule":"1","t:NoSchedule":"2"}}}}`, Record{}, `duplicate field "pools.a.taints.t:NoSchedule"`},
		"field twice":          {"encoding/json would mix the two", `{"version":1,"pools":{"a":{"labels":{"l":"1"},"labels":{"m":"1"}}}}`, Record{}, `duplicate field "pools.a.labels"`},
		"pool twice":           {"encoding/json would drop the first", `{"version":1,"pools":{"a":{"labels":{"l":"1"}},"a":{}}}`, Record{}, `duplicate field "pools.a"`},
		"key of two pools":     {"whose is it", `{"version":1,"pools":{"a":{"labels":{"l":"1"}},"b":{"labels":{"l":"1"}}}}`, Record{}, `the entry of "l" is of two pools`},
		"taint of two pools":   {"whose is it", `{"version":1,"pools":{"a":{"taints":{"t:NoSchedule":"1"}},"b":{"taints":{"t:NoSchedule":"1"}}}}`, Record{}, `the entry of "t:NoSchedule" is of two pools`},
		"label and annotation": {"two keys of one name are two keys", `{"version":1,"pools":{"a":{"labels":{"k":"1"}},"b":{"annotations":{"k":"1"}}}}`, Record{Labels: map[string]Entry{"k": {Pool: "a", Value: "1"}}, Annotations: map[string]Entry{"k": {Pool: "b", Value: "1"}}}, ""},
		"null as value":        {"what is ours cannot be distinguished from what is not", `{"version":1,"pools":{"a":{"labels":{"l":null}}}}`, Record{}, `the entry of "l" has no value`},
		"number as value":      {"no value is a number", `{"version":1,"pools":{"a":{"labels":{"l":1}}}}`, Record{}, "misplaced number, up to byte"},
		"list as pools":        {"pools have names", `{"version":1,"pools":[]}`, Record{}, "misplaced array, up to byte"},
		"nobody's label":       {"whom should it be released for", `{"version":1,"pools":{"":{"labels":{"l":"1"}}}}`, Record{}, "names no pool"},
		"nobody's taint":       {"the same", `{"version":1,"pools":{"":{"taints":{"t:NoSchedule":"1"}}}}`, Record{}, "names no pool"},
		"no key":               {"there is no such label", `{"version":1,"pools":{"a":{"labels":{"":"1"}}}}`, Record{}, "no key"},
		"taint sans effect":    {"a taint is known by key and effect", `{"version":1,"pools":{"a":{"taints":{"t":"1"}}}}`, Record{}, "key:effect"},
		"before of nobody":     {"a value would come back for no reason", labels + `,"before":{"labels":{"m":"0"}}}`, Record{}, `"m" had a value before, and is of no pool`},
		"before elsewhere":     {"the annotation of that name is not ours", labels + `,"before":{"annotations":{"l":"0"}}}`, Record{}, `"l" had a value before, and is of no pool`},
		"before is null":       {"none before is not to be recorded", labels + `,"before":{"labels":{"l":null}}}`, Record{}, `"l" had a value before that is missing`},
		"adopted of nobody":    {"a key would go for no reason", labels + `,"adopted":{"taints":{"t:NoSchedule":""}}}`, Record{}, `"t:NoSchedule" is adopted, and is of no pool`},
		"before and adopted":   {"it comes back or it does not", labels + `,"before":{"labels":{"l":"0"}},"adopted":{"labels":{"l":"0"}}}`, Record{}, `"l" is adopted, and has a value to come back`},
	})
}
