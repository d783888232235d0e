package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// admission is what the API server has to say of a manifest.
type admission struct {
	// spec of the object, in YAML; name defaults to "subject".
	name, spec string
	// refused holds what the message must name; nil where the object is taken.
	refused []string
	// later is true where the API server takes the object, and the controller finds what is
	// wrong with it.
	later bool
	// earlier is true where only the API server sees the mistake, which is gone when
	// the manifest has been read.
	earlier bool
	// same is true where the API server gives the reasons of ValidateNodePool, at the
	// same fields, in the same words.
	same bool
}

func long(char string, count int) string { return strings.Repeat(char, count) }

func many(count int, format string) string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf(format, i))
	}
	return strings.Join(all, ", ")
}

var poolAdmissions = map[string]admission{
	"nothing said":              {spec: `{}`},
	"name of 63":                {name: long("a", 63), spec: `{}`},
	"name of 64":                {name: long("a", 64), spec: `{}`, refused: []string{"metadata.name must be no more than 63 characters"}},
	"name in capitals":          {name: "Master", spec: `{}`, refused: []string{"metadata.name", "lowercase"}},
	"unknown field":             {spec: `{lables: {a: b}}`, refused: []string{`unknown field "spec.lables"`}},
	"parent":                    {spec: `{parent: other}`},
	"rollout":                   {spec: `{rollout: {windows: [{schedule: "0 2 * * 6", timeZone: Europe/Berlin, duration: 4h}], exclusions: [{start: "2026-12-18T00:00:00Z", end: "2027-01-05T00:00:00Z", reason: peak season}]}}`},
	"rollout of a budget":       {spec: `{rollout: {maxUnavailable: 10%, minReady: 1h30m}}`},
	"rollout that is paused":    {spec: `{rollout: {paused: true}}`},
	"rollout that is resumed":   {spec: `{rollout: {paused: false}}`},
	"rollout of 101%":           {spec: `{rollout: {maxUnavailable: 101%}}`, refused: []string{"spec.rollout.maxUnavailable"}},
	"rollout of -1":             {spec: `{rollout: {maxUnavailable: -1}}`, refused: []string{"spec.rollout.maxUnavailable"}},
	"rollout of ready days":     {spec: `{rollout: {maxUnavailable: 1, minReady: 25h}}`, refused: []string{"spec.rollout.minReady", "between 0s and 24h"}, later: true},
	"conditions":                {spec: `{rollout: {maxUnavailable: 1, nodeConditions: [{type: GPUHealthy}, {type: example.com/Disk_Full, status: "False"}]}}`},
	"conditions, none":          {spec: `{rollout: {nodeConditions: []}}`, refused: []string{"spec.rollout.nodeConditions"}},
	"conditions, 9":             {spec: `{rollout: {nodeConditions: [` + many(9, `{type: c%d}`) + `]}}`, refused: []string{"spec.rollout.nodeConditions", "8"}},
	"condition twice":           {spec: `{rollout: {nodeConditions: [{type: a}, {type: a, status: "False"}]}}`, refused: []string{"spec.rollout.nodeConditions[1]", "Duplicate"}},
	"condition Ready":           {spec: `{rollout: {nodeConditions: [{type: Ready}]}}`, refused: []string{"spec.rollout.nodeConditions[0].type", "Ready always counts"}},
	"condition without type":    {spec: `{rollout: {nodeConditions: [{status: "True"}]}}`, refused: []string{"spec.rollout.nodeConditions[0].type"}},
	"condition of a status":     {spec: `{rollout: {nodeConditions: [{type: a, status: Maybe}]}}`, refused: []string{"spec.rollout.nodeConditions[0].status"}},
	"rollout of waves":          {spec: `{rollout: {waves: [{name: canary, nodes: 1, soak: 30m, approval: Required}, {name: zone-y, selector: {matchLabels: {zone: y1, "example.com/rack": ""}}, nodes: 50%}]}}`},
	"rollout of 64 waves":       {spec: `{rollout: {waves: [` + many(64, `{name: w%d, nodes: 1}`) + `]}}`},
	"rollout of 65 waves":       {spec: `{rollout: {waves: [` + many(65, `{name: w%d, nodes: 1}`) + `]}}`, refused: []string{"spec.rollout.waves", "64"}},
	"rollout of no waves":       {spec: `{rollout: {waves: []}}`, refused: []string{"spec.rollout.waves"}},
	"wave twice":                {spec: `{rollout: {waves: [{name: a, nodes: 1}, {name: a, nodes: 2}]}}`, refused: []string{"spec.rollout.waves[1]", "Duplicate"}},
	"wave of nothing":           {spec: `{rollout: {waves: [{name: a}]}}`, refused: []string{"spec.rollout.waves[0]", "selector, or nodes"}},
	"wave without name":         {spec: `{rollout: {waves: [{nodes: 1}]}}`, refused: []string{"spec.rollout.waves[0].name"}},
	"wave of 0%":                {spec: `{rollout: {waves: [{name: a, nodes: 0%}]}}`, refused: []string{"spec.rollout.waves[0].nodes"}},
	"wave beyond 32 bits":       {spec: `{rollout: {waves: [{name: a, nodes: 2147483648}]}}`, refused: []string{"spec.rollout.waves[0]", "from 1 up"}},
	"wave of 0":                 {spec: `{rollout: {waves: [{name: a, nodes: 0}]}}`, refused: []string{"spec.rollout.waves[0]", "from 1 up"}},
	"duration beyond counting":  {spec: `{rollout: {maxUnavailable: 1, minReady: 99999h99999h99999h99999h99999h}}`, refused: []string{"spec.rollout.minReady"}, earlier: true},
	"longest duration":          {spec: `{rollout: {maxUnavailable: 1, minReady: 99999h99999h99999h99999h}}`, refused: []string{"spec.rollout.minReady"}, later: true},
	"wave of no labels":         {spec: `{rollout: {waves: [{name: a, selector: {matchLabels: {}}}]}}`, refused: []string{"spec.rollout.waves[0].selector.matchLabels"}},
	"wave of 9 labels":          {spec: `{rollout: {waves: [{name: a, selector: {matchLabels: {` + many(9, `k%d: v`) + `}}}]}}`, refused: []string{"spec.rollout.waves[0].selector.matchLabels", "8"}},
	"wave that soaks too long":  {spec: `{rollout: {waves: [{name: a, nodes: 1, soak: 745h}]}}`, refused: []string{"spec.rollout.waves[0].soak", "744h"}, later: true},
	"wave of a wrong approval":  {spec: `{rollout: {waves: [{name: a, nodes: 1, approval: Maybe}]}}`, refused: []string{"spec.rollout.waves[0].approval"}},
	"rollout of nothing":        {spec: `{rollout: {}}`, refused: []string{"spec.rollout"}, earlier: true},
	"rollout of 17 windows":     {spec: `{rollout: {windows: [` + many(17, `{schedule: "%d 2 * * *", duration: 4h}`) + `]}}`, refused: []string{"spec.rollout.windows", "16"}},
	"rollout of 65 exclusions":  {spec: `{rollout: {exclusions: [` + many(65, `{schedule: "0 2 * * *", duration: 4h, reason: r%d}`) + `]}}`, refused: []string{"spec.rollout.exclusions", "64"}},
	"rollout without duration":  {spec: `{rollout: {windows: [{schedule: "0 2 * * 6"}]}}`, refused: []string{"spec.rollout.windows[0].duration"}},
	"rollout of both days":      {spec: `{rollout: {windows: [{schedule: "0 2 1-7 * 6", duration: 4h}]}}`, refused: []string{"spec.rollout.windows[0].schedule", "both the day of month and the day of week"}, later: true},
	"rollout of a long window":  {spec: `{rollout: {windows: [{schedule: "@daily", duration: 745h}]}}`, refused: []string{"spec.rollout.windows[0].duration", "744h"}, later: true},
	"rollout that ends early":   {spec: `{rollout: {exclusions: [{start: "2027-01-05T00:00:00Z", end: "2026-12-18T00:00:00Z"}]}}`, refused: []string{"spec.rollout.exclusions[0]", "end must be after start"}, later: true, earlier: false},
	"parent empty":              {spec: `{parent: ""}`, refused: []string{"spec.parent"}, earlier: true},
	"parent is itself":          {spec: `{parent: subject}`, refused: []string{"spec.parent must name another pool"}},
	"parent of 64":              {spec: `{parent: ` + long("a", 64) + `}`, refused: []string{"spec.parent"}},
	"priority below zero":       {spec: `{priority: -5}`},
	"priority far below":        {spec: `{priority: -2147483649}`, refused: []string{"spec.priority"}},
	"rollout beyond 32 bits":    {spec: `{rollout: {maxUnavailable: 2147483648}}`, refused: []string{"spec.rollout.maxUnavailable"}},
	"failures beyond 32 bits":   {spec: `{rollout: {maxUnavailable: 1, maxFailures: 2147483648}}`, refused: []string{"spec.rollout.maxFailures"}},
	"priority beyond 32 bits":   {spec: `{priority: 2147483648}`, refused: []string{"spec.priority"}},
	"priority as text":          {spec: `{priority: "5"}`, refused: []string{"spec.priority", "integer"}},
	"selector":                  {spec: `{selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}}`},
	"selector empty":            {spec: `{selector: {}}`, refused: []string{"selector must not be empty"}},
	"selector of empty parts":   {spec: `{selector: {matchLabels: {}, matchExpressions: []}}`, refused: []string{"selector must not be empty"}},
	"selector with bad key":     {spec: `{selector: {matchLabels: {"a b": c}}}`, refused: []string{"spec.selector.matchLabels", "qualified name"}, later: true},
	"selector value of 64":      {spec: `{selector: {matchLabels: {a: ` + long("v", 64) + `}}}`, refused: []string{"spec.selector.matchLabels.a", "63"}},
	"65 labels of a selector":   {spec: `{selector: {matchLabels: {` + many(65, "k%d: v") + `}}}`, refused: []string{"spec.selector.matchLabels", "64"}},
	"expression with bad value": {spec: `{selector: {matchExpressions: [{key: c, operator: In, values: [a, "b c"]}]}}`, refused: []string{"spec.selector.matchExpressions[0].values[1]"}},
	"selector with bad word":    {spec: `{selector: {matchExpressions: [{key: c, operator: Has}]}}`, refused: []string{"Has"}, same: true},
	"selector without operator": {spec: `{selector: {matchExpressions: [{key: c}]}}`, refused: []string{"spec.selector.matchExpressions[0].operator"}},
	"selector In of nothing":    {spec: `{selector: {matchExpressions: [{key: c, operator: In}]}}`, refused: []string{"need values"}, same: true},
	"selector Exists with one":  {spec: `{selector: {matchExpressions: [{key: c, operator: Exists, values: [a]}]}}`, refused: []string{"take no values"}, same: true},
	"Exists of no values":       {spec: `{selector: {matchExpressions: [{key: c, operator: Exists, values: []}]}}`},
	"values twice":              {spec: `{selector: {matchExpressions: [{key: c, operator: NotIn, values: [a, a, ""]}]}}`},
	"65 expressions":            {spec: `{selector: {matchExpressions: [` + many(65, "{key: k%d, operator: Exists}") + `]}}`, refused: []string{"spec.selector.matchExpressions", "64"}},
	"1001 values":               {spec: `{selector: {matchExpressions: [{key: c, operator: In, values: [` + many(1001, "v%d") + `]}]}}`, refused: []string{"spec.selector.matchExpressions[0].values", "1000"}},
	"selector at its bounds": {spec: `{selector: {matchLabels: {` + many(64, strings.Repeat("p.", 125)+"q%02d/"+long("k", 63)+": "+long("v", 63)) + `}, matchExpressions: [` +
		many(63, "{key: "+strings.Repeat("p.", 125)+"q%02d/"+long("k", 63)+", operator: Exists}") + `, {key: c, operator: In, values: [` + many(1000, long("v", 59)+"%04d") + `]}]}}`},
	"node names":                {spec: `{nodeNames: [a, "b-*", "c-[0-9]"]}`},
	"node names empty":          {spec: `{nodeNames: []}`, refused: []string{"spec.nodeNames"}},
	"node name empty":           {spec: `{nodeNames: [""]}`, refused: []string{"spec.nodeNames[0]"}},
	"node name twice":           {spec: `{nodeNames: [a, a]}`, refused: []string{"spec.nodeNames[1]", "Duplicate"}},
	"node name of 254":          {spec: `{nodeNames: [` + long("a", 254) + `]}`, refused: []string{"spec.nodeNames[0]"}},
	"node name no pattern":      {spec: `{nodeNames: [b, "a[b"]}`, refused: []string{"a[b"}, later: true},
	"both at once":              {spec: `{nodeNames: ["GPU-[z-a]"]}`, refused: []string{"GPU-[z-a]"}, later: true},
	"1001 node names":           {spec: `{nodeNames: [` + many(1001, "n%d") + `]}`, refused: []string{"spec.nodeNames", "1000"}},
	"selector and names":        {spec: `{nodeNames: [a], selector: {matchLabels: {a: b}}}`, refused: []string{"selector and nodeNames exclude each other"}},
	"label":                     {spec: `{labels: {a: b, example.com/Some_Key.1: Some_Value.1, empty: ""}}`},
	"label key at its bounds":   {spec: `{labels: {` + long("p", 63) + "." + long("q", 63) + "." + long("r", 63) + "." + long("s", 61) + "/" + long("k", 63) + `: v}}`},
	"label key with space":      {spec: `{labels: {"a b": v}}`, refused: []string{"spec.labels", "qualified name"}, later: true},
	"label value of 64":         {spec: `{labels: {a: ` + long("v", 64) + `}}`, refused: []string{"spec.labels.a", "63"}},
	"label value with space":    {spec: `{labels: {a: "b c"}}`, refused: []string{"spec.labels.a", "should match"}},
	"label value a number":      {spec: `{labels: {a: 8}}`, refused: []string{"spec.labels.a", "string"}, earlier: true},
	"label of the controller":   {spec: `{labels: {nodes.lailin.xyz/source: a}}`, refused: []string{"spec.labels", "kept for the controller"}},
	"65 labels":                 {spec: `{labels: {` + many(65, "k%d: v") + `}}`, refused: []string{"spec.labels", "64"}},
	"annotation":                {spec: `{annotations: {a: "any {text} é"}}`},
	"annotation of 1024":        {spec: `{annotations: {a: "` + long("é", 1024) + `"}}`},
	"annotation of 1025":        {spec: `{annotations: {a: "` + long("v", 1025) + `"}}`, refused: []string{"spec.annotations.a", "1024"}},
	"annotation of the record":  {spec: `{annotations: {nodes.lailin.xyz/applied: "{}"}}`, refused: []string{"spec.annotations", "kept for the controller"}},
	"taints":                    {spec: `{taints: [{key: a, value: b, effect: NoSchedule}, {key: a, effect: NoExecute}]}`},
	"taint without effect":      {spec: `{taints: [{key: a}]}`, refused: []string{"spec.taints[0].effect"}},
	"taint with bad effect":     {spec: `{taints: [{key: a, effect: Never}]}`, refused: []string{"spec.taints[0].effect", "NoSchedule"}},
	"taint without key":         {spec: `{taints: [{effect: NoSchedule}]}`, refused: []string{"spec.taints[0].key"}},
	"taint with bad key":        {spec: `{taints: [{key: "a b", effect: NoSchedule}]}`, refused: []string{"spec.taints[0].key"}},
	"taint with value of 64":    {spec: `{taints: [{key: a, value: ` + long("v", 64) + `, effect: NoSchedule}]}`, refused: []string{"spec.taints[0].value", "63"}},
	"taint twice":               {spec: `{taints: [{key: a, value: b, effect: NoSchedule}, {key: a, value: c, effect: NoSchedule}]}`, refused: []string{"spec.taints[1]", "Duplicate"}},
	"taint with its time":       {spec: `{taints: [{key: a, effect: NoSchedule, timeAdded: "2024-01-01T00:00:00Z"}]}`, refused: []string{`unknown field "spec.taints[0].timeAdded"`}},
	"taint of Kubernetes":       {spec: `{taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]}`, refused: []string{"spec.taints[0]", "condition of a node"}, later: true},
	"taint of a CSI driver":     {spec: `{taints: [{key: ebs.csi.aws.com/agent-not-ready, effect: NoExecute}]}`, refused: []string{"spec.taints[0]", "put them back"}, later: true},
	"taint of the controller":   {spec: `{taints: [{key: nodes.lailin.xyz/x, effect: NoExecute}]}`, refused: []string{"spec.taints[0]", "kept for the controller"}},
	"33 taints":                 {spec: `{taints: [` + many(33, "{key: k%d, effect: NoSchedule}") + `]}`, refused: []string{"spec.taints", "32"}},
	"handler":                   {spec: `{handler: kata-qemu}`},
	"handler in capitals":       {spec: `{handler: Kata}`, refused: []string{"spec.handler"}},
	"handler of 64":             {spec: `{handler: ` + long("h", 64) + `}`, refused: []string{"spec.handler"}},
	"role of another pool":      {spec: `{labels: {node-role.kubernetes.io/worker: ""}}`, refused: []string{"own role label"}, later: true},
	"own role":                  {spec: `{labels: {node-role.kubernetes.io/subject: ""}}`},
	"own role with a value":     {spec: `{labels: {node-role.kubernetes.io/subject: x}}`, refused: []string{"own role label"}, later: true},
	"label of a host's name":    {spec: `{labels: {kubernetes.io/hostname: a}}`, refused: []string{"spec.labels", "what machine a node is"}},
	"label of a zone":           {spec: `{labels: {topology.kubernetes.io/zone: a}}`},
	"zone taken over":           {spec: `{labels: {topology.kubernetes.io/zone: a}, conflictPolicy: TakeOver}`, refused: []string{"conflictPolicy must be Report"}, later: true},
	"control-plane taint":       {spec: `{taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]}`},
	"the same, adopted":         {spec: `{taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}], conflictPolicy: Adopt}`, refused: []string{"conflictPolicy must be Report"}, later: true},
	"autoscaler's taint":        {spec: `{taints: [{key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}], conflictPolicy: TakeOver}`, refused: []string{"conflictPolicy must be Report"}, later: true},
	"control plane":             {name: "control-plane", spec: `{conflictPolicy: TakeOver, parent: other}`},
	"control plane by names":    {name: "control-plane", spec: `{nodeNames: ["*"]}`, refused: []string{"chooses its members by its role label"}, later: true},
	"master by a selector":      {name: "master", spec: `{selector: {matchLabels: {a: b}}}`, refused: []string{"chooses its members by its role label"}, later: true},
	"annotations of 8192 bytes": {spec: `{annotations: {` + many(8, `kk%d: "`+long("é", 510)+`v"`) + `}}`},
	"annotations of 8193 bytes": {spec: `{annotations: {` + many(8, `kk%d: "`+long("é", 510)+`v"`) + `, k: ""}}`, refused: []string{"spec.annotations", "8192 bytes"}, later: true},
	"all at its bounds": {spec: `{labels: {` + many(64, strings.Repeat("p.", 125)+"q%02d/"+long("k", 63)+": "+long("v", 63)) + `}, annotations: {` +
		many(64, "k%02d: "+long("v", 125)) + `}, taints: [` + many(32, "{key: "+strings.Repeat("p.", 125)+"q%02d/"+long("k", 63)+", value: "+long("v", 63)+", effect: NoExecute}") +
		`], conflictPolicy: Adopt, nodeNames: [` + many(1000, long("n", 249)+"%04d") + `]}`},
	"conflict policy":         {spec: `{conflictPolicy: TakeOver}`},
	"conflict policy unknown": {spec: `{conflictPolicy: Steal}`, refused: []string{"spec.conflictPolicy", "TakeOver"}},
}

func TestAPIServerJudgesPoolsAsWeDo(t *testing.T) {
	c := cluster.Shared(t)
	w := &world{Client: newClient(t, c.Config), t: t, cluster: c}
	for name, a := range poolAdmissions {
		t.Run(name, func(t *testing.T) {
			object := a.object(t, v1.NodePoolKind)
			w.in(t).admits(object, a.byServer())
			text, err := yaml.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			pool := &v1.NodePool{}
			if err := yaml.UnmarshalStrict(text, pool); err != nil {
				if a.refused == nil {
					t.Errorf("the pool cannot be read: %v", err)
				}
				return // unknown fields and other types do not reach the check
			}
			if a.earlier {
				return
			}
			problems := v1.ValidateNodePool(pool)
			if a.refused == nil && len(problems) > 0 {
				t.Errorf("the API server takes it, and ValidateNodePool says: %v", problems.ToAggregate())
			}
			if a.refused != nil && len(problems) == 0 {
				t.Error("ValidateNodePool finds nothing wrong")
			}
			if a.same {
				if diff := diffOfReasons(t, problems, w.refusal(object)); diff != "" {
					t.Errorf("(-ValidateNodePool +API server):\n%s", diff)
				}
			}
		})
	}
}

// hiddenValue is what an API server of an earlier version says in the place of a text that
// breaks a rule in CEL.
const hiddenValue = `Invalid value: "string"`

// diffOfReasons compares the reasons that we give with those of the API server.
func diffOfReasons(t *testing.T, ours field.ErrorList, refusal error) string {
	t.Helper()
	causes := causesOf(t, refusal)
	if slices.ContainsFunc(causes, func(cause string) bool { return strings.Contains(cause, hiddenValue) }) {
		for _, problem := range ours {
			if _, isText := problem.BadValue.(string); isText && problem.Type == field.ErrorTypeInvalid {
				problem.BadValue = "string"
			}
		}
	}
	return cmp.Diff(reasonsOf(ours), causes)
}

// reasonsOf and causesOf are the fields at fault, each with why, as we and as the
// API server have it.
func reasonsOf(problems field.ErrorList) []string {
	var reasons []string
	for _, problem := range problems {
		reasons = append(reasons, problem.Error())
	}
	slices.Sort(reasons)
	return reasons
}

func causesOf(t *testing.T, err error) []string {
	t.Helper()
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		t.Fatalf("no refusal of the API server: %v", err)
	}
	var causes []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "<nil>" { // which says that rules were skipped
			causes = append(causes, cause.Field+": "+cause.Message)
		}
	}
	slices.Sort(causes)
	return causes
}

// byServer is what the API server refuses an object for; nil where it takes it.
func (a admission) byServer() []string {
	if a.later {
		return nil
	}
	return a.refused
}

func (a admission) object(t *testing.T, kind string) *unstructured.Unstructured {
	t.Helper()
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(a.spec), &spec); err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(v1.GroupVersion.WithKind(kind))
	object.SetName("subject")
	if a.name != "" {
		object.SetName(a.name)
	}
	return object
}

// admits asks the API server, without creating anything, whether it takes an
// object, and holds its message to what it must name.
func (w *world) admits(object *unstructured.Unstructured, refused []string) {
	w.t.Helper()
	err := w.refusal(object)
	switch {
	case refused == nil && err != nil:
		w.t.Errorf("refused: %v", err)
	case refused != nil && err == nil:
		w.t.Error("the API server has taken it")
	case err != nil:
		for _, text := range refused {
			if !strings.Contains(err.Error(), text) && !strings.Contains(err.Error(), hiddenValue) {
				w.t.Errorf("the message does not name %q: %v", text, err)
			}
		}
	}
}

// refusal is what the API server says of an object that it does not take.
func (w *world) refusal(object *unstructured.Unstructured) error {
	return w.Create(w.t.Context(), object.DeepCopy(), client.DryRunAll, client.FieldValidation("Strict"))
}
