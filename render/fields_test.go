package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestLoadProblems(t *testing.T) {
	// In each document, the pool is preceded by these four lines.
	spec := func(rest string) fs.FS { return tree("p.yaml", named("p", "spec:\n"+rest)) }
	meta := func(rest string) fs.FS { return tree("p.yaml", named("p", rest)) }
	cases := map[string]struct {
		reason string
		files  fs.FS
		want   []string // file:line:column: what the message contains (hint)
	}{
		// What a document is.
		"kind mistyped":     {"a dropped pool would be pruned", tree("p.yaml", "kind: Nodepool\napiVersion: nodes.lailin.xyz/v1\n"), []string{`1:1: kind is "Nodepool" (did you mean "NodePool"?)`}},
		"kind missing":      {"same", tree("p.yaml", "apiVersion: nodes.lailin.xyz/v1\n"), []string{`1:1: kind is missing (did you mean "NodePool"?)`}},
		"version missing":   {"same", tree("p.yaml", "kind: NodePool\n"), []string{`1:1: apiVersion is missing (did you mean "nodes.lailin.xyz/v1"?)`}},
		"version no text":   {"a number is no version", tree("p.yaml", "kind: NodePool\napiVersion: 1\n"), []string{`2:1: apiVersion is missing (did you mean`}},
		"version mistyped":  {"same", tree("p.yaml", "kind: NodePool\napiVersion: node.lailin.xyz/v1\n"), []string{`2:1: apiVersion is "node.lailin.xyz/v1" (did you mean "nodes.lailin.xyz/v1"?)`}},
		"pool list":         {"a list hides lines and names", tree("p.yaml", "kind: NodePoolList\napiVersion: nodes.lailin.xyz/v1\nitems: []\n"), []string{`1:1: a "NodePoolList" is not read (write each pool`}},
		"text":              {"no map at all", tree("p.yaml", "---\nhello\n"), []string{`2:1: a document must be a map (keep other`}},
		"without a marker":  {"YAML allows it after ..., and hardly anybody means it", tree("p.yaml", named("p", "...\n")+named("q", "")), []string{`6:1: this is not YAML: a second document begins without a line --- (write ---`}},
		"other YAML":        {"the parser reads 1.1 alone", tree("p.yaml", "%YAML 1.2\n---\n"+named("p", "")), []string{`1:1: this is not YAML: found incompatible YAML document (leave the line`}},
		"second document":   {"lines count from the top of the file", tree("p.yaml", named("p", "---\n")+named("q", "spec:\n  foo: 1\n")), []string{`11:3: pool "q": spec: unknown field "foo" (known here: annotations, conflictPolicy`}},
		"after a bad one":   {"a mistake in one document hides none in the next", tree("p.yaml", "a: b: c\n---\nb: [\n---\n"+named("q", "foo: 1\n")), []string{`1:1: this is not YAML: mapping values`, `3:1: this is not YAML: did not find expected node content`, `9:1: pool "q": unknown field "foo"`}},
		"foreign anchor":    {"to kubectl every document stands for itself", tree("p.yaml", named("p", "spec:\n  labels: &l\n    a: b\n---\n")+named("q", "spec:\n  labels: *l\n")), []string{`14:1: this is not YAML: an alias has no anchor`}},
		"custom tag":        {"a tag can make anything of a value", spec("  labels: !mine\n    a: b\n"), []string{`6:3: pool "p": spec.labels: must be a map, and has the tag "!mine"`}},
		"custom scalar tag": {"same", spec("  labels:\n    a: !mine b\n    c: !!binary YQ==\n"), []string{`7:5: pool "p": spec.labels[a]: must be text, and is tagged "!mine"`, `8:5: pool "p": spec.labels[c]: must be text, and is tagged "!!binary"`}},

		// Text that is none.
		"latin 1":          {"the bytes could mean anything", tree("p.yaml", "# ok\n# \xe9\n"), []string{`2:3: the file is not UTF-8 text`}},
		"utf-16":           {"the parser would read it, we do not", tree("p.yaml", "\xff\xfea\x00:\x00"), []string{`1:1: the file is not UTF-8 text, but UTF-16 (save it`}},
		"utf-16, bare":     {"no editor shows the zeros", tree("p.yaml", "a\x00:\x00\n\x00"), []string{`1:1: the file is not UTF-8 text, but UTF-16 (save it`}},
		"utf-16, swapped":  {"same", tree("p.yaml", "\x00a\x00:\x00\n"), []string{`1:1: the file is not UTF-8 text, but UTF-16 (save it`}},
		"nul":              {"YAML has none", tree("p.yaml", "ab\x00c"), []string{`1:3: the file has the control character U+0000`}},
		"LFS":              {"the pool is elsewhere", tree("p.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("0", 64)+"\nsize 120\n"), []string{`1:1: the file is a pointer of Git LFS, and has no pool (keep pool files out`}},
		"conflict":         {"both sides may be valid", tree("p.yaml", named("p", "spec:\n<<<<<<< HEAD\n  priority: 1\n=======\n  priority: 2\n>>>>>>> other\n")), []string{`6:1: the file has markers of a merge conflict (resolve`}},
		"half a conflict":  {"one marker was overlooked", tree("p.yaml", named("p", "spec:\r\n  priority: 1\r\n=======\r\n")), []string{`7:1: the file has markers of a merge conflict (resolve`}},
		"escape":           {"a terminal would obey", tree("p.yaml", "a: 1\nb: é\x1b[1m"), []string{`2:5: the file has the control character U+001B`}},
		"line separator":   {"the parser and the reader would count different lines", tree("p.yaml", "# a\u2028---\nb: 1"), []string{`1:4: the file has the control character U+2028`}},
		"carriage return":  {"same", tree("p.yaml", "a: 1\rb: 2\r"), []string{`1:5: a line ends with a carriage return alone`}},
		"tab":              {"the mistake that nobody sees", tree("p.yaml", header+"metadata:\n\tname: a\n"), []string{`4:1: this is not YAML: found character (indent with spaces`}},
		"open quote":       {"the line where it begins", tree("p.yaml", header+"metadata:\n  name: \"a\nspec: {}\n"), []string{`4:1: this is not YAML: found unexpected end of stream (the quotes that begin`}},
		"open bracket":     {"same", tree("p.yaml", header+"metadata:\n  name: [a\nspec: {}\n"), []string{`4:1: this is not YAML: did not find expected ',' or ']' (the list that begins`}},
		"open brace":       {"same", tree("p.yaml", header+"metadata: {\n  name: a\nspec: {}\n"), []string{`3:1: this is not YAML: did not find expected ',' or '}' (the map that begins`}},
		"indentation":      {"the line that sticks out", tree("p.yaml", named("p", "spec:\n  handler: runc\n parent: b\n")), []string{`7:1: this is not YAML: did not find expected key (check the indentation`}},
		"colon in a value": {"must be quoted", tree("p.yaml", named("p", "spec:\n  handler: a: b\n")), []string{`6:1: this is not YAML: mapping values are not allowed`}},
		"no colon":         {"a key without its colon", tree("p.yaml", named("p", "spec\n\nstatus: {}\n")), []string{`5:1: this is not YAML: could not find expected ':'`}},
		"list that ends":   {"the line that is no item", tree("p.yaml", "- a\n- b\nc: d\n"), []string{`3:1: this is not YAML: did not find expected '-' indicator (check the`}},
		"text after quote": {"in the list that ends there", tree("p.yaml", named("p", "spec:\n  nodeNames:\n  - 'a' b\n")), []string{`7:1: this is not YAML: did not find expected key (check the`}},
		"unknown alias":    {"the parser reports no line", tree("p.yaml", "# c\n---\n"+named("p", "spec:\n  labels: *x\n")), []string{`8:1: this is not YAML: an alias has no anchor before it (anchors are known`}},

		// Times.
		"no duration":    {"a number has no unit", spec("  rollout:\n    windows:\n    - {schedule: 0 2 * * *, duration: 4}\n"), []string{`8:29: pool "p": spec.rollout.windows[0].duration: must be a duration such as 1h30m, and is the number 4`}},
		"duration":       {"days have no fixed length", spec("  rollout:\n    windows:\n    - {schedule: 0 2 * * *, duration: 1d}\n"), []string{`8:29: pool "p": spec.rollout.windows[0].duration: must be a duration such as 1h30m, and is "1d"`}},
		"long window":    {"the schema has bounds", spec("  rollout:\n    windows:\n    - {schedule: 0 2 * * *, duration: 745h}\n"), []string{`8:29: pool "p": spec.rollout.windows[0].duration: "745h0m0s" is not valid: must be between 1m and 744h`}},
		"no time":        {"the offset is missing", spec("  rollout:\n    exclusions:\n    - {start: 2026-12-18, end: 2027-01-05T00:00:00Z}\n"), []string{`8:8: pool "p": spec.rollout.exclusions[0].start: must be a time such as 2026-12-18T00:00:00+01:00, and is "2026-12-18"`}},
		"ends too early": {"it would never be in force", spec("  rollout:\n    exclusions:\n    - {start: 2027-01-05T00:00:00Z, end: 2026-12-18T00:00:00Z}\n"), []string{`8:37: pool "p": spec.rollout.exclusions[0].end: "2026-12-18T00:00:00Z" is not valid: must be after start`}},
		"empty rollout":  {"its lines may be commented out", spec("  rollout:\n"), []string{`6:3: pool "p": spec.rollout: is empty: it must say something`}},
		"unknown zone":   {"it would never open", spec("  rollout:\n    windows:\n    - {schedule: 0 2 * * *, timeZone: Europe/Atlantis, duration: 4h}\n"), []string{`8:29: pool "p": spec.rollout.windows[0].timeZone: "Europe/Atlantis" is not valid: is not in the time zone database`}},
		"never":          {"there is no such day", spec("  rollout:\n    windows:\n    - {schedule: 0 2 30 2 *, duration: 4h}\n"), []string{`8:8: pool "p": spec.rollout.windows[0].schedule: "0 2 30 2 *" is not valid`}},

		// Limits.
		"limit of text":       {"a word has no number", spec("  rollout:\n    maxUnavailable: some\n"), []string{`7:5: pool "p": spec.rollout.maxUnavailable: must be a number or a percentage such as 10%, and is the text "some"`}},
		"limit of quotes":     {"the API server tells numbers from texts", spec("  rollout:\n    maxUnavailable: \"3\"\n"), []string{`7:5: pool "p": spec.rollout.maxUnavailable: must be a number or a percentage such as 10%, and is the text "3"`}},
		"limit below":         {"no number of nodes", spec("  rollout:\n    maxUnavailable: -1\n"), []string{`7:5: pool "p": spec.rollout.maxUnavailable: "-1" is not valid: must be a number from 0 up or a percentage`}},
		"limit above":         {"there are no more nodes", spec("  rollout:\n    maxUnavailable: 101%\n"), []string{`7:5: pool "p": spec.rollout.maxUnavailable: "101%" is not valid: must be a number`}},
		"deadline of seconds": {"nobody would react that fast", spec("  rollout:\n    maxUnavailable: 1\n    progressDeadline: 30s\n"), []string{`8:5: pool "p": spec.rollout.progressDeadline: "30s" is not valid: must be between 1m and 744h`}},
		"minReady of days":    {"a rollout would not end", spec("  rollout:\n    maxUnavailable: 1\n    minReady: 25h\n"), []string{`8:5: pool "p": spec.rollout.minReady: "25h0m0s" is not valid: must be between 0s and 24h`}},
		"condition Ready":     {"it always counts", spec("  rollout:\n    maxUnavailable: 1\n    nodeConditions:\n    - type: Ready\n"), []string{`9:7: pool "p": spec.rollout.nodeConditions[0].type: "Ready" is not valid: Ready always counts: name others`}},
		"condition of a word": {"a status is a text", spec("  rollout:\n    maxUnavailable: 1\n    nodeConditions:\n    - type: GPUHealthy\n      status: True\n"), []string{`10:7: pool "p": spec.rollout.nodeConditions[0].status: `}},
		"paused by a word":    {"the API server takes no yes", spec("  rollout:\n    paused: yes\n"), []string{`7:5: pool "p": spec.rollout.paused: must be true or false, and is the text "yes"`}},

		// Keys.
		"unknown":            {"the field, not the map it is in", spec("  handler: runc\n  selektor: {}\n"), []string{`7:3: pool "p": spec: unknown field "selektor" (did you mean "selector"?)`}},
		"unknown in a list":  {"same", spec("  taints:\n  - key: a\n    effct: NoSchedule\n"), []string{`8:5: pool "p": spec.taints[0]: unknown field "effct" (did you mean "effect"?)`}},
		"case":               {"JSON in Go would take it, the API server would not", spec("  Handler: runc\n"), []string{`6:3: pool "p": spec: unknown field "Handler" (did you mean "handler"?)`}},
		"swapped letters":    {"one slip, not two", spec("  pareNt: x\n  prioirty: 1\n"), []string{`6:3: pool "p": spec: unknown field "pareNt" (did you mean "parent"?)`, `7:3: pool "p": spec: unknown field "prioirty" (did you mean "priority"?)`}},
		"wrong place":        {"where it belongs is more help than what is known here", meta("taints: []\n"), []string{`5:1: pool "p": unknown field "taints" ("taints" belongs under spec)`}},
		"labels on top":      {"labels belong in two places", meta("labels: {}\n"), []string{`5:1: pool "p": unknown field "labels" ("labels" belongs under spec, for`}},
		"duplicate":          {"the second one", spec("  handler: runc\n  priority: 1\n  handler: kata\n"), []string{`8:3: pool "p": spec: the key "handler" appears twice`}},
		"duplicate top":      {"same", meta("spec: {}\nspec: {}\n"), []string{`6:1: pool "p": the key "spec" appears twice`}},
		"duplicate quoted":   {"quotes make no other key", spec("  labels:\n    a: b\n    \"a\": c\n"), []string{`8:5: pool "p": spec.labels: the key "a" appears twice`}},
		"duplicate of many":  {"large maps are searched another way", spec("  labels:\n" + manyLabels(20) + "    k3: x\n"), []string{`27:5: pool "p": spec.labels: the key "k3" appears twice`}},
		"duplicate merge":    {"YAML knows one", spec("  labels:\n    <<: {a: b}\n    <<: {c: d}\n"), []string{`8:5: pool "p": spec.labels: the key "<<" appears twice`}},
		"merge of no map":    {"nothing to merge", spec("  labels:\n    <<: [{a: b}, c]\n"), []string{`7:5: pool "p": spec.labels: << merges maps, and this is the text "c"`}},
		"merge of itself":    {"the parser lets it pass", spec("  labels: &l\n    a: b\n    <<: *l\n"), []string{`8:5: pool "p": spec.labels: merges itself`}},
		"key that is a map":  {"not a text", spec("  labels:\n    ? {a: b}\n    : c\n"), []string{`7:8: pool "p": spec.labels: a key must be text, and is a map`}},
		"key and its map":    {"what else is wrong with the map is said as well", spec("  labels:\n    8: c\n    a b: c\n    \"\": d\n    e: \"f g\"\n"), []string{`7:5: pool "p": spec.labels: a key must be text, and is the number 8`, `8:5: pool "p": spec.labels[a b]: "a b" is not valid`, `9:5: pool "p": spec.labels[]: the key is empty: must be a qualified name`, `10:5: pool "p": spec.labels[e]: "f g" is not valid`}},
		"key alone":          {"no follow-on problem that nothing is in the selector", spec("  selector:\n    matchLabels:\n      8: c\n"), []string{`8:7: pool "p": spec.selector.matchLabels: a key must be text, and is the number 8`}},
		"map for a key":      {"same", spec("  selector:\n    matchLabels:\n      ? [a]\n      : c\n"), []string{`8:9: pool "p": spec.selector.matchLabels: a key must be text, and is a list`}},
		"key that is number": {"quotes decide its type", spec("  labels:\n    8: c\n    on: d\n"), []string{`7:5: pool "p": spec.labels: a key must be text, and is the number 8 (put it in quotes: "8")`, `8:5: pool "p": spec.labels: a key must be text, and is the boolean on (put it in quotes: "on")`}},

		// Values.
		"number":          {"the example of the product has quotes for this", spec("  labels:\n    a: 8\n    b: 1.5\n    c: 0x1f\n"), []string{`7:5: pool "p": spec.labels[a]: must be text, and is the number 8 (put it in quotes: "8")`, `8:5: pool "p": spec.labels[b]: must be text, and is the number 1.5`, `9:5: pool "p": spec.labels[c]: must be text, and is the number 0x1f`}},
		"boolean":         {"kubectl would refuse each of these", spec("  labels:\n    a: true\n    b: yes\n    c: Off\n"), []string{`7:5: pool "p": spec.labels[a]: must be text, and is the boolean true (put it in quotes: "true")`, `8:5: pool "p": spec.labels[b]: must be text, and is the boolean yes (put it in quotes: "yes")`, `9:5: pool "p": spec.labels[c]: must be text, and is the boolean Off`}},
		"null label":      {"is it empty, or forgotten?", spec("  labels:\n    a:\n    b: ~\n"), []string{`7:5: pool "p": spec.labels[a]: must be text, and is empty (write "" for`, `8:5: pool "p": spec.labels[b]: must be text, and is empty`}},
		"name no text":    {"the pool has no name then", tree("p.yaml", header+"metadata:\n  name: 8\n"), []string{`4:3: metadata.name: must be text, and is the number 8`}},
		"list for a map":  {"no follow-on problems", spec("  labels: [a]\n"), []string{`6:3: pool "p": spec.labels: must be a map, and is a list`}},
		"map for a list":  {"same", spec("  taints:\n    key: a\n"), []string{`6:3: pool "p": spec.taints: must be a list, and is a map`}},
		"text for a list": {"same", spec("  nodeNames: a\n"), []string{`6:3: pool "p": spec.nodeNames: must be a list, and is the text "a"`}},
		"map for text":    {"same", spec("  handler: {a: b}\n"), []string{`6:3: pool "p": spec.handler: must be text, and is a map`}},
		"text for spec":   {"same", meta("spec: x\n"), []string{`5:1: pool "p": spec: must be a map, and is the text "x"`}},
		"quoted number":   {"priority is a number", spec("  priority: \"5\"\n"), []string{`6:3: pool "p": spec.priority: must be a whole number, and is the text "5" (leave the quotes out)`}},
		"fraction":        {"same", spec("  priority: 1.0\n"), []string{`6:3: pool "p": spec.priority: must be a whole number, and is the number 1.0`}},
		"octal":           {"010 is eight to YAML and ten to people", spec("  priority: 010\n"), []string{`6:3: pool "p": spec.priority: must be a whole number in plain decimal digits, and is "010"`}},
		"too large":       {"32 bits", spec("  priority: 2147483648\n"), []string{`6:3: pool "p": spec.priority: must be between -2147483648 and 2147483647, and is 2147483648`}},
		"null number":     {"is it 0, or forgotten?", spec("  priority:\n"), []string{`6:3: pool "p": spec.priority: must be a whole number, and is empty`}},
		"long value":      {"messages are bounded", spec("  handler: " + strings.Repeat("x", 1000) + "\n"), []string{`6:3: pool "p": spec.handler: "` + strings.Repeat("x", maxValue) + `…" is not valid`}},
		"control value":   {"an escape in the file is one in the message", spec("  handler: \"a\\e[1m\"\n"), []string{`6:3: pool "p": spec.handler: "a\x1b[1m" is not valid`}},

		// What a file may not say.
		"status":           {"the controller's", meta("status: {}\n"), []string{`5:1: pool "p": status: is what the controller reports (leave it out)`}},
		"namespace":        {"cluster-scoped", meta("  namespace: x\n"), []string{`5:3: pool "p": metadata.namespace: a NodePool has no namespace`}},
		"generated name":   {"a name of its own", tree("p.yaml", header+"metadata:\n  generateName: x-\n"), []string{`3:1: metadata.name: is missing: a pool needs a name`, `4:3: metadata.generateName: a pool in a file needs a name`}},
		"finalizers":       {"the controller's", meta("  finalizers: [a]\n"), []string{`5:3: pool "p": metadata.finalizers: finalizers are`}},
		"owner":            {"the source's", meta("  ownerReferences: []\n"), []string{`5:3: pool "p": metadata.ownerReferences: a pool in a file`}},
		"exported":         {"what kubectl get -o yaml prints", meta("  resourceVersion: \"1\"\n  uid: a\n  generation: 1\n  creationTimestamp: null\n  managedFields: []\n"), []string{`5:3: pool "p": metadata.resourceVersion: is what the API server`, `6:3: pool "p": metadata.uid: is`, `7:3: pool "p": metadata.generation: is`, `8:3: pool "p": metadata.creationTimestamp: is`, `9:3: pool "p": metadata.managedFields: is`}},
		"our label":        {"the source's", meta("  labels:\n    nodes.lailin.xyz/source: x\n"), []string{`6:5: pool "p": metadata.labels[nodes.lailin.xyz/source]: labels under nodes.lailin.xyz/ are kept`}},
		"our annotation":   {"the source's", meta("  annotations:\n    nodes.lailin.xyz/file: x\n"), []string{`6:5: pool "p": metadata.annotations[nodes.lailin.xyz/file]: annotations under nodes.lailin.xyz/ are kept`}},
		"switch":           {"an unknown value would switch nothing off", meta("  annotations:\n    nodes.lailin.xyz/prune: disable\n"), []string{`6:5: pool "p": metadata.annotations[nodes.lailin.xyz/prune]: "disable" is not known: must be disabled (did you mean "disabled"?)`}},
		"metadata label":   {"as the API server", meta("  labels:\n    a: b\n    c d: e\n    f: \"g h\"\n"), []string{`7:5: pool "p": metadata.labels[c d]: "c d" is not valid`, `8:5: pool "p": metadata.labels[f]: "g h" is not valid`}},
		"annotation key":   {"as the API server", meta("  annotations:\n    c d: e\n"), []string{`6:5: pool "p": metadata.annotations[c d]: "c d" is not valid`}},
		"annotation bytes": {"as the API server", meta("  annotations:\n    a: " + strings.Repeat("x", 257<<10) + "\n"), []string{`5:3: pool "p": metadata.annotations: is too long: may not be more than 262144 bytes`}},

		// What validation finds, with its position.
		"invalid name":       {"the role label is made of it", tree("p.yaml", header+"metadata:\n  name: A_b\n"), []string{`4:3: pool "A_b": metadata.name: "A_b" is not valid: a lowercase RFC 1123 subdomain`}},
		"no metadata":        {"the nearest thing there is", tree("p.yaml", "# c\n"+header), []string{`2:1: metadata.name: is missing: a pool needs a name`}},
		"taint without key":  {"the item, as the key has no line", spec("  taints:\n  - key: a\n    effect: NoSchedule\n  - effect: NoSchedule\n"), []string{`9:5: pool "p": spec.taints[1].key: is missing: must be a qualified name`}},
		"empty taint key":    {"it is there, and says nothing", spec("  taints:\n  - key: \"\"\n    effect: \"\"\n"), []string{`7:5: pool "p": spec.taints[0].key: is empty: must be a qualified name, such as example.com/team`, `8:5: pool "p": spec.taints[0].effect: is empty: must be NoExecute, NoSchedule or PreferNoSchedule`}},
		"empty node name":    {"same", spec("  nodeNames: [\"\"]\n"), []string{`6:15: pool "p": spec.nodeNames[0]: is empty: must be a node name or a pattern of one`}},
		"empty name":         {"same", tree("p.yaml", header+"metadata:\n  name: \"\"\n"), []string{`4:3: metadata.name: is empty: a pool needs a name`}},
		"node name":          {"a slip of the pen", spec("  nodeNames: [gpu-1, GPU-2]\n"), []string{`6:22: pool "p": spec.nodeNames[1]: "GPU-2" is not valid: must be a node name or a pattern of one (did you mean "gpu-2"?)`}},
		"braces":             {"a shell's", spec("  nodeNames: [\"gpu-{1,2}\"]\n"), []string{`6:15: pool "p": spec.nodeNames[0]: "gpu-{1,2}" is not valid: must be a node name (did you mean "gpu-1" and "gpu-2"?)`}},
		"range downwards":    {"it holds nothing", spec("  nodeNames: [\"gpu-[3-1]\"]\n"), []string{`6:15: pool "p": spec.nodeNames[0]: "gpu-[3-1]" is not valid: what is in [ ] must stand for a character (did you mean "gpu-[1-3]"?)`}},
		"operator in":        {"case counts", spec("  selector: {matchExpressions: [{key: a, operator: in, values: [b]}]}\n"), []string{`6:42: pool "p": spec.selector.matchExpressions[0].operator: "in" is not known: must be In, NotIn, Exists or DoesNotExist (did you mean "In"?)`}},
		"operator Equals":    {"of another notation", spec("  selector: {matchExpressions: [{key: a, operator: Equals, values: [b]}]}\n"), []string{`6:42: pool "p": spec.selector.matchExpressions[0].operator: "Equals" is not known: must be In, NotIn, Exists or DoesNotExist (did you mean "In"?)`}},
		"operator joined":    {"of another notation", spec("  selector: {matchExpressions: [{key: a, operator: does_not-exist}]}\n"), []string{`6:42: pool "p": spec.selector.matchExpressions[0].operator: "does_not-exist" is not known: must be In, NotIn, Exists or DoesNotExist (did you mean "DoesNotExist"?)`}},
		"values of Exists":   {"they would be passed over", spec("  selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}\n"), []string{`6:60: pool "p": spec.selector.matchExpressions[0].values: the operators Exists and DoesNotExist go by the key alone`}},
		"taint twice":        {"the second", spec("  taints:\n  - {key: a, effect: NoSchedule}\n  - {key: a, effect: NoSchedule, value: x}\n"), []string{`8:6: pool "p": spec.taints[1]: "a:NoSchedule" appears twice`}},
		"effect":             {"the field", spec("  taints:\n  - key: a\n    effect: noschedule\n"), []string{`8:5: pool "p": spec.taints[0].effect: "noschedule" is not known: must be NoExecute, NoSchedule or PreferNoSchedule (did you mean "NoSchedule"?)`}},
		"label key":          {"brackets and dots in a key are part of it", spec("  labels:\n    a].b[c: d\n    a: \"x y\"\n"), []string{`7:5: pool "p": spec.labels[a].b[c]: "a].b[c" is not valid`, `8:5: pool "p": spec.labels[a]: "x y" is not valid`}},
		"our node label":     {"the controller's", spec("  labels:\n    nodes.lailin.xyz/x: d\n"), []string{`7:5: pool "p": spec.labels[nodes.lailin.xyz/x]: keys under`}},
		"too many labels":    {"the map", spec("  labels:\n" + manyLabels(65)), []string{`6:3: pool "p": spec.labels: has too many entries: must have at most 64 items`}},
		"long annotation":    {"the record repeats it", spec("  annotations:\n    a: " + strings.Repeat("x", 1025) + "\n"), []string{`7:5: pool "p": spec.annotations[a]: is too long`}},
		"empty selector":     {"it would match every node", spec("  selector: {}\n"), []string{`6:3: pool "p": spec.selector: is empty: it would match every node`}},
		"null selector":      {"lines commented out must not choose other nodes", spec("  selector:\n#    matchLabels: {}\n"), []string{`6:3: pool "p": spec.selector: is empty: it would match every node`}},
		"null node names":    {"same", spec("  nodeNames:\n"), []string{`6:3: pool "p": spec.nodeNames: is empty: leave it out`}},
		"misspelt selector":  {"no follow-on problem that it is empty", spec("  selector:\n    matchLabel: {a: b}\n"), []string{`7:5: pool "p": spec.selector: unknown field "matchLabel" (did you mean "matchLabels"?)`}},
		"selector label":     {"Kubernetes names the map only", spec("  selector:\n    matchLabels:\n      a: b\n      c: \"d e\"\n"), []string{`9:7: pool "p": spec.selector.matchLabels[c]: "d e" is not valid`}},
		"selector operator":  {"the field", spec("  selector:\n    matchExpressions:\n    - {key: a, operator: In, values: [b]}\n    - key: a\n      operator: In\n"), []string{`9:7: pool "p": spec.selector.matchExpressions[1].values: is missing: the operators In and NotIn need values`}},
		"merged":             {"where it is written, not where it is merged", spec("  annotations: &a\n    c d: x\n  labels:\n    <<: *a\n"), []string{`7:5: pool "p": spec.annotations[c d]: "c d" is not`, `7:5: pool "p": spec.labels[c d]: "c d" is not`}},
		"its own parent":     {"one problem, not a cycle as well", spec("  parent: p\n"), []string{`6:3: pool "p": spec.parent: "p" is not valid: must name another pool`}},
		"both ways":          {"a pool's members are chosen in one way", spec("  nodeNames: [a]\n  selector: {matchLabels: {a: b}}\n"), []string{`6:3: pool "p": spec.nodeNames: excludes selector`}},
		"everything at once": {"not one problem per push", spec("  handler: A\n  foo: b\n  priority: x\n"), []string{`6:3: pool "p": spec.handler`, `7:3: pool "p": spec: unknown field "foo"`, `8:3: pool "p": spec.priority`}},

		// Files.
		"link":           {"to pass over it would drop what is behind it", fstest.MapFS{"p.yaml": {Mode: fs.ModeSymlink, Data: []byte("x")}}, []string{`0:0: is a symbolic link`}},
		"link of folder": {"same", fstest.MapFS{"pools": {Mode: fs.ModeSymlink, Data: []byte("x")}}, []string{`pools:0:0: is a symbolic link`}},
		"pipe":           {"no file", fstest.MapFS{"p.yaml": {Mode: fs.ModeNamedPipe}}, []string{`0:0: is not a regular file`}},
		"file name":      {"it goes into annotations and onto terminals", tree("a\x1b[1m\nb.yaml", ""), []string{`a\x1b[1m\nb.yaml:0:0: the file's path is too long or has characters (rename`}},
		"long file name": {"same", tree(strings.Repeat("a/", 511)+"pool.yaml", ""), []string{strings.Repeat("a/", 511) + `po…:0:0: the file's path is too long`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Load(c.files)
			problems := problemsOf(t, err)
			mustBeSafe(t, problems)
			matchProblems(t, c.reason, problems, c.want)
		})
	}
}

// matchProblems compares problems with file:line:column: message (hint). The
// file may be omitted when it is p.yaml, the hint may be a prefix, and the
// message any part.
func matchProblems(t *testing.T, reason string, problems Problems, want []string) {
	t.Helper()
	var got []string
	for i, p := range problems {
		line := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
		line = strings.TrimPrefix(line, "p.yaml:")
		if i < len(want) {
			message, hint, _ := strings.Cut(want[i], " (")
			if strings.HasPrefix(line, message) && strings.HasPrefix(p.Hint+")", hint) {
				line = want[i]
			}
		}
		if i >= len(want) || line != want[i] {
			line += " (" + p.Hint + ")"
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func manyLabels(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "    k%d: v\n", i)
	}
	return text.String()
}

// Every field that a pool may have can be read from a file: a new field of a
// type that the decoder does not know fails here, not at its first user.
func TestDecoderKnowsEveryType(t *testing.T) {
	unmarshaler := reflect.TypeFor[json.Unmarshaler]()
	var check func(path string, of reflect.Type)
	check = func(path string, of reflect.Type) {
		if of == timeType || of == durationType || of == limitType {
			return
		}
		if reflect.PointerTo(of).Implements(unmarshaler) {
			t.Errorf("%s: %s reads itself from JSON, which the decoder does not know", path, of)
			return
		}
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			check(path, of.Elem())
		case reflect.Map:
			if of.Key().Kind() != reflect.String {
				t.Errorf("%s: the keys of a map must be text", path)
			}
			check(path, of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				field := of.Field(i)
				if field.Anonymous || field.Tag.Get("json") == "" {
					t.Errorf("%s.%s: needs a name in YAML", path, field.Name)
				}
				check(path+"."+field.Name, field.Type)
			}
		case reflect.String, reflect.Int32, reflect.Bool:
		default:
			t.Errorf("%s: the decoder does not know %s", path, of)
		}
	}
	check("pool", reflect.TypeFor[manifest]())
}
