package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

var sourceAdmissions = map[string]admission{
	"least":                      {spec: `{url: https://git.example.com/pools.git}`},
	"all said":                   {spec: `{url: "ssh://git@git.example.com/pools.git", ref: {branch: main}, path: clusters/a, interval: 1m30s, prune: false, pruneLimit: 3, suspend: true}`},
	"url by file":                {spec: `{url: file:///srv/pools.git}`},
	"url missing":                {spec: `{path: a}`, refused: []string{"spec.url"}},
	"url empty":                  {spec: `{url: ""}`, refused: []string{"spec.url"}},
	"url of another kind":        {spec: `{url: ftp://git.example.com/pools.git}`, refused: []string{"spec.url", "must begin with https://"}},
	"url as scp writes it":       {spec: `{url: "git@git.example.com:pools.git"}`, refused: []string{"spec.url", "write ssh://git@git.example.com/pools.git"}},
	"url with a token":           {spec: `{url: "https://token@git.example.com/pools.git"}`, refused: []string{"spec.url", "must not carry a credential"}},
	"url with user and password": {spec: `{url: "http://user:word@git.example.com/pools.git"}`, refused: []string{"spec.url", "must not carry a credential"}},
	"url by ssh with a password": {spec: `{url: "ssh://git:word@git.example.com/pools.git"}`, refused: []string{"spec.url", "must not carry a credential"}},
	"url of 2049":                {spec: `{url: "https://` + long("a", 2041) + `"}`, refused: []string{"spec.url"}},
	"ref empty":                  {spec: `{url: "https://a/b", ref: {}}`, refused: []string{"spec.ref", "exactly one"}},
	"ref of two":                 {spec: `{url: "https://a/b", ref: {branch: a, tag: b}}`, refused: []string{"spec.ref", "exactly one"}},
	"ref with an empty branch":   {spec: `{url: "https://a/b", ref: {branch: ""}}`, refused: []string{"spec.ref.branch"}},
	"ref by tag":                 {spec: `{url: "https://a/b", ref: {tag: v1}}`},
	"ref by range":               {spec: `{url: "https://a/b", ref: {semver: ">=1.2 <2"}}`},
	"ref by commit":              {spec: `{url: "https://a/b", ref: {commit: ` + long("a", 40) + `}}`},
	"ref by short commit":        {spec: `{url: "https://a/b", ref: {commit: abc123}}`, refused: []string{"spec.ref.commit"}},
	"path from the root":         {spec: `{url: "https://a/b", path: /etc}`, refused: []string{"spec.path", "stay inside"}},
	"path upwards":               {spec: `{url: "https://a/b", path: a/../../b}`, refused: []string{"spec.path", "stay inside"}},
	"path with dots in a name":   {spec: `{url: "https://a/b", path: a..b/..c}`},
	"interval of 1s":             {spec: `{url: "https://a/b", interval: 1s}`},
	"interval too short":         {spec: `{url: "https://a/b", interval: 999ms}`, refused: []string{"spec.interval", "between 1s and 24h"}},
	"interval too long":          {spec: `{url: "https://a/b", interval: 25h}`, refused: []string{"spec.interval", "between 1s and 24h"}},
	"interval without unit":      {spec: `{url: "https://a/b", interval: "60"}`, refused: []string{"spec.interval"}},
	"interval a number":          {spec: `{url: "https://a/b", interval: 60}`, refused: []string{"spec.interval", "string"}},
	"interval in words":          {spec: `{url: "https://a/b", interval: hourly}`, refused: []string{"spec.interval"}},
	"interval beyond counting":   {spec: `{url: "https://a/b", interval: 99999999999999999999h}`, refused: []string{"spec.interval"}},
	"layers":                     {spec: `{url: "https://a/b", layers: [base, clusters/prod-1]}`},
	"layer of all":               {spec: `{url: "https://a/b", layers: [.]}`, refused: []string{"spec.layers[0]", "should match"}},
	"layer outside":              {spec: `{url: "https://a/b", layers: [base, ../x]}`, refused: []string{"spec.layers[1]", "should match"}},
	"layer from the root":        {spec: `{url: "https://a/b", layers: [/base]}`, refused: []string{"spec.layers[0]", "should match"}},
	"layer with a slash behind":  {spec: `{url: "https://a/b", layers: [base/]}`, refused: []string{"spec.layers[0]", "should match"}},
	"hidden layer":               {spec: `{url: "https://a/b", layers: [a/.b]}`, refused: []string{"spec.layers[0]", "should match"}},
	"layer twice":                {spec: `{url: "https://a/b", layers: [base, base]}`, refused: []string{"spec.layers", "none may be within another"}},
	"layer within a layer":       {spec: `{url: "https://a/b", layers: [clusters/a, clusters]}`, refused: []string{"spec.layers", "none may be within another"}},
	"layers that begin alike":    {spec: `{url: "https://a/b", layers: [eu, eu-1]}`},
	"limit of none":              {spec: `{url: "https://a/b", pruneLimit: 0}`},
	"limit of all":               {spec: `{url: "https://a/b", pruneLimit: "100%"}`},
	"limit below none":           {spec: `{url: "https://a/b", pruneLimit: -1}`, refused: []string{"spec.pruneLimit", "from 0 up"}},
	"limit beyond 32 bits":       {spec: `{url: "https://a/b", pruneLimit: 2147483648}`, refused: []string{"spec.pruneLimit"}},
	"release beyond 32 bits":     {spec: `{url: "https://a/b", releaseLimit: 2147483648}`, refused: []string{"spec.releaseLimit"}},
	"limit beyond all":           {spec: `{url: "https://a/b", pruneLimit: "101%"}`, refused: []string{"spec.pruneLimit", "from 0 up"}},
	"limit in words":             {spec: `{url: "https://a/b", pruneLimit: few}`, refused: []string{"spec.pruneLimit", "from 0 up"}},
	"limit a number as text":     {spec: `{url: "https://a/b", pruneLimit: "5"}`, refused: []string{"spec.pruneLimit", "from 0 up"}},
	"deletion leaves pools":      {spec: `{url: "https://a/b", deletionPolicy: Orphan}`},
	"deletion takes pools along": {spec: `{url: "https://a/b", deletionPolicy: Delete}`},
	"deletion of another kind":   {spec: `{url: "https://a/b", deletionPolicy: Retain}`, refused: []string{"spec.deletionPolicy", "Orphan", "Delete"}},
	"windows":                    {spec: `{url: "https://a/b", windows: [{schedule: "0 2 * * 6", timeZone: Europe/Berlin, duration: 4h}], exclusions: [{start: "2026-12-18T00:00:00Z", end: "2027-01-05T00:00:00Z"}]}`},
	"deletion in small letters":  {spec: `{url: "https://a/b", deletionPolicy: delete}`, refused: []string{"spec.deletionPolicy"}},
	"deletion empty":             {spec: `{url: "https://a/b", deletionPolicy: ""}`, refused: []string{"spec.deletionPolicy"}},
	"unknown field":              {spec: `{url: "https://a/b", branch: main}`, refused: []string{`unknown field "spec.branch"`}},
	"windows and exclusions":     {spec: `{url: "https://a/b", windows: [{schedule: "0 2 * * 6", timeZone: Europe/Berlin, duration: 4h}, {schedule: "@daily", duration: 90m}], exclusions: [{schedule: "*/15 22,23 1-7 jan-MAR *", timeZone: Etc/GMT+5, duration: 744h, reason: books}, {start: "2026-12-18T00:00:00+01:00", end: "2027-01-05T00:00:00Z", reason: peak season}]}`},
	"windows of nothing":         {spec: `{url: "https://a/b", windows: []}`, refused: []string{"spec.windows"}},
	"exclusions of nothing":      {spec: `{url: "https://a/b", exclusions: []}`, refused: []string{"spec.exclusions"}},
	"17 windows":                 {spec: `{url: "https://a/b", windows: [` + many(17, `{schedule: "%d 2 * * *", duration: 4h}`) + `]}`, refused: []string{"spec.windows", "16"}},
	"65 exclusions":              {spec: `{url: "https://a/b", exclusions: [` + many(65, `{schedule: "0 2 * * *", duration: 4h, reason: r%d}`) + `]}`, refused: []string{"spec.exclusions", "64"}},
	"window without schedule":    {spec: `{url: "https://a/b", windows: [{duration: 4h}]}`, refused: []string{"spec.windows[0].schedule"}},
	"window without duration":    {spec: `{url: "https://a/b", windows: [{schedule: "0 2 * * 6"}]}`, refused: []string{"spec.windows[0].duration"}},
	"schedule with its zone":     {spec: `{url: "https://a/b", windows: [{schedule: "TZ=UTC 0 2 * * 6", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule", "without a time zone"}, later: true},
	"schedule that panics":       {spec: `{url: "https://a/b", windows: [{schedule: "TZ=UTC", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule"}, later: true},
	"schedule of every":          {spec: `{url: "https://a/b", windows: [{schedule: "@every 1h", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule", "@hourly"}, later: true},
	"schedule of 90 minutes":     {spec: `{url: "https://a/b", windows: [{schedule: "*/90 * * * *", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule", "more than one value"}, later: true},
	"schedule of both days":      {spec: `{url: "https://a/b", windows: [{schedule: "0 2 1-7 * 6", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule", "both the day of month and the day of week"}, later: true},
	"schedule of day 7":          {spec: `{url: "https://a/b", windows: [{schedule: "0 2 * * 7", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule"}, later: true},
	"schedule of six fields":     {spec: `{url: "https://a/b", windows: [{schedule: "0 0 2 * * 6", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule", "five fields"}, later: true},
	"range over midnight":        {spec: `{url: "https://a/b", windows: [{schedule: "0 22-2 * * *", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule", "end before it begins"}, later: true},
	"range over the week":        {spec: `{url: "https://a/b", windows: [{schedule: "0 2 * * sat-sun", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule", "end before it begins"}, later: true},
	"schedule of 129":            {spec: `{url: "https://a/b", windows: [{schedule: "` + long("0,", 60) + `0 * * * *", duration: 4h}]}`, refused: []string{"spec.windows[0].schedule", "128"}},
	"zone empty":                 {spec: `{url: "https://a/b", windows: [{schedule: "@daily", timeZone: "", duration: 4h}]}`, refused: []string{"spec.windows[0].timeZone"}},
	"zone of the machine":        {spec: `{url: "https://a/b", windows: [{schedule: "@daily", timeZone: Local, duration: 4h}]}`, refused: []string{"spec.windows[0].timeZone", "differ from machine to machine"}, later: true},
	"zone of its file":           {spec: `{url: "https://a/b", windows: [{schedule: "@daily", timeZone: LocalTime, duration: 4h}]}`, refused: []string{"spec.windows[0].timeZone", "differ from machine to machine"}, later: true},
	"zone with leap seconds":     {spec: `{url: "https://a/b", windows: [{schedule: "@daily", timeZone: right/UTC, duration: 4h}]}`, refused: []string{"spec.windows[0].timeZone", "differ from machine to machine"}, later: true},
	"zone by its path":           {spec: `{url: "https://a/b", windows: [{schedule: "@daily", timeZone: ../etc/passwd, duration: 4h}]}`, refused: []string{"spec.windows[0].timeZone"}},
	"duration too short":         {spec: `{url: "https://a/b", windows: [{schedule: "@daily", duration: 59s}]}`, refused: []string{"spec.windows[0].duration", "between 1m and 744h"}, later: true},
	"duration too long":          {spec: `{url: "https://a/b", windows: [{schedule: "@daily", duration: 745h}]}`, refused: []string{"spec.windows[0].duration", "between 1m and 744h"}, later: true},
	"exclusion of nothing":       {spec: `{url: "https://a/b", exclusions: [{reason: peak}]}`, refused: []string{"spec.exclusions[0]", "either a schedule and a duration, or a start and an end"}},
	"exclusion without end":      {spec: `{url: "https://a/b", exclusions: [{start: "2026-12-18T00:00:00Z"}]}`, refused: []string{"spec.exclusions[0]", "either a schedule and a duration, or a start and an end"}},
	"exclusion of both kinds":    {spec: `{url: "https://a/b", exclusions: [{start: "2026-12-18T00:00:00Z", end: "2027-12-18T00:00:00Z", schedule: "@daily", duration: 1h}]}`, refused: []string{"spec.exclusions[0]", "either a schedule and a duration, or a start and an end"}},
	"exclusion with a zone":      {spec: `{url: "https://a/b", exclusions: [{start: "2026-12-18T00:00:00Z", end: "2027-12-18T00:00:00Z", timeZone: UTC}]}`, refused: []string{"spec.exclusions[0]", "either a schedule and a duration, or a start and an end"}},
	"exclusion backwards":        {spec: `{url: "https://a/b", exclusions: [{start: "2026-12-18T00:00:00Z", end: "2026-12-18T00:00:00Z"}]}`, refused: []string{"spec.exclusions[0]", "end must be after start"}, later: true},
	"exclusion by the day":       {spec: `{url: "https://a/b", exclusions: [{start: "2026-12-18", end: "2027-01-05"}]}`, refused: []string{"spec.exclusions[0].start"}},
	"reason of 257":              {spec: `{url: "https://a/b", exclusions: [{schedule: "@daily", duration: 1h, reason: ` + long("r", 257) + `}]}`, refused: []string{"spec.exclusions[0].reason", "256"}},
	"windows at their bounds": {spec: `{url: "https://a/b", windows: [` + many(16, `{schedule: "`+long("0,", 58)+`%d * * * *", timeZone: America/Argentina/ComodRivadavia, duration: 744h}`) + `], exclusions: [` +
		many(64, `{schedule: "`+long("0,", 50)+`0 * * * *", duration: 744h, reason: `+long("r", 253)+`%03d}`) + `]}`},
	"name of 64": {name: long("a", 64), spec: `{url: "https://a/b"}`, refused: []string{"metadata.name must be no more than 63 characters"}},
}

func TestAPIServerJudgesSources(t *testing.T) {
	c := cluster.Shared(t)
	w := &world{Client: newClient(t, c.Config), t: t, cluster: c}
	for name, a := range sourceAdmissions {
		t.Run(name, func(t *testing.T) {
			w.in(t).admits(a.object(t, "NodePoolSource"), a.byServer())
		})
	}
}

// What the schema fills in is what the code takes for the default.
func TestAPIServerFillsInSources(t *testing.T) {
	w := &world{Client: newClient(t, cluster.Shared(t).Config), t: t}
	src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "least"}, Spec: v1.NodePoolSourceSpec{URL: "https://a/b", Interval: metav1.Duration{Duration: time.Minute}}}
	w.do(w.Create(t.Context(), src, client.DryRunAll))
	if src.Spec.DeletionPolicy != v1.OrphanPools {
		t.Errorf("deletionPolicy is %q, and pools that nobody speaks of must stay", src.Spec.DeletionPolicy)
	}
}
