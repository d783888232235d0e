package render

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// hostile returns files that are crafted to make the controller run out of
// memory or time, cut to the size of a file.
func hostile() map[string]string {
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (maxDocumentBytes-len(before)-len(after))/len(unit)) + after
	}
	pool := named("p", "spec:\n")
	texts := map[string]string{
		"alias bomb":         pool + "  labels: &a0 {x: y}\n" + bomb("  ", "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", 20),
		"alias bomb in list": pool + "  nodeNames: &a0 [a, a, a]\n" + bomb("  ", "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", 20),
		"merge bomb":         pool + "  labels: &a0 {x: y}\n" + bomb("  ", "a%d: &a%d {<<: [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]}\n", 20) + "  annotations: *a20\n",
		"wide merge":         fill(pool+"  labels: &l {"+commaKeys(2000)+"}\n  annotations: {<<: [*l", ", *l", "]}\n"),
		"wide taints":        fill(pool+"  taints: [&t {"+commaKeys(2000)+"}", ", *t", "]\n"),
		"wide expressions":   fill(pool+"  selector: {matchExpressions: [&t {key: a, operator: In, values: &v ["+strings.Repeat("b, ", 5000)+"]}", ", *t", "]}\n"),
		"cycle":              pool + "  taints: &t [*t, {<<: *t}]\n  labels: &l {<<: [*l, *l]}\n",
		"deep list":          fill(pool+"  labels: ", "[", ""),
		"deep list, closed":  pool + "  labels: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "\n",
		"deep map":           fill(pool+"  labels: ", "{a: ", ""),
		"deep items":         fill("", "- ", ""),
		"deep keys":          fill("", "? ", ""),
		"many anchors":       fill("", "- &a\n", ""),
		"many names":         fill(pool+"  nodeNames: [", "a,", "]\n"),
		"many expressions":   fill(pool+"  selector: {matchExpressions: [", "{},", "]}\n"),
		"many taints":        fill(pool+"  taints: [", "{},", "]\n"),
		"many bad labels":    pool + "  labels:\n" + strings.Repeat("    ?!: a\n", 20_000),
		"many empties":       fill("", "?\n", ""),
		"many flow keys":     fill("{", "a,", "}"),
		"many comments":      fill("", "a: 1 #\n", ""),
		"many tags":          fill("", "- !!x\n", ""),
		"many documents":     strings.Repeat("a\n---\n", maxFileBytes/6),
		"many small pools":   strings.Repeat(named("p", "---\n"), maxDocuments),
		"giant key":          fill(pool+"  labels:\n    ", "a", ": b\n"),
		"giant name":         fill(header+"metadata:\n  name: ", "a", "\n"),
		"giant value":        fill(pool+"  handler: \"", `\e`, "\"\n"),
		"giant kind":         fill("apiVersion: nodes.lailin.xyz/v1\nkind: ", "a", "\n"),
		"giant parent":       fill(pool+"  parent: ", "a", "\n"),
		"giant alias":        fill("a: *", "a", "\n"),
		"giant pattern":      fill(pool+"  nodeNames: [\"", "*", "\"]\n"),
		"giant file":         strings.Repeat("a", 2*maxFileBytes),
		"giant document":     strings.Repeat("# a\n", maxFileBytes/4),
		"labels to sort":     pool + "  labels:\n" + differentKeys(20_000),
		"nul":                "a: \x00",
		"tabs":               strings.Repeat("\t", maxFileBytes),
		"newlines":           strings.Repeat("\n", maxFileBytes),
		"markers":            strings.Repeat("---\n", maxFileBytes/4),
		"directives":         strings.Repeat("%A\n", maxFileBytes/3),
		"invalid utf-8":      strings.Repeat("\xff", maxFileBytes),
		"colons":             strings.Repeat(":", maxFileBytes),
		"quotes":             strings.Repeat("'", maxDocumentBytes),
		"long cycle":         chain(maxDocuments-1) + "---\n" + named("p0", "spec: {parent: p998}\n"),
		"long chain":         chain(maxDocuments),
		"wide pools":         wide(0, 150),
		"wide bad pools":     strings.ReplaceAll(wide(0, 150), "spec:", "spec:\n  handler: '?'"),
	}
	return texts
}

// bomb returns a chain of lines, each of which refers to the one before nine times.
func bomb(indent, line string, steps int) string {
	var text strings.Builder
	for i := 1; i <= steps; i++ {
		arguments := []any{i, i}
		for range 9 {
			arguments = append(arguments, i-1)
		}
		fmt.Fprintf(&text, indent+line, arguments...)
	}
	return text.String()
}

func commaKeys(count int) string {
	return strings.ReplaceAll(strings.TrimSpace(differentKeys(count)), "\n   ", ",")
}

func differentKeys(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "    k%d: v\n", i)
	}
	return text.String()
}

// most is what a hostile tree may allocate in total.
const most = 512 << 20

func TestLoadBoundsWhatHostileFilesCost(t *testing.T) {
	// The densest file takes the parser about 130 MiB; without bounds it would
	// take gigabytes. Allocations are counted, as time depends on the machine; the
	// race detector adds its share.
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			files := tree("p.yaml", text)
			runtime.ReadMemStats(&before)
			definitions, err := Load(files)
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > most {
				t.Errorf("%d bytes of YAML cost %d MiB", len(text), allocated>>20)
			} else {
				t.Logf("%d bytes of YAML cost %d KiB", len(text), allocated>>10)
			}
			problems := problemsOf(t, err)
			mustBeSafe(t, problems)
			if allowed := name == "newlines" || name == "markers"; len(problems) == 0 && !allowed {
				t.Errorf("no problem, but %d pools", len(definitions))
			}
			if size := len(problems.Error()); size > 2<<20 {
				t.Errorf("the error has %d KiB", size>>10)
			}
		})
	}
}

func TestLoadBounds(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  fs.FS
		want   []string
	}{
		"file":      {"larger than a file", tree("p.yaml", strings.Repeat("#", maxFileBytes+1)), []string{"0:0: the file is larger than 1024 KiB (split it"}},
		"file fits": {"as large as a file may be", tree("p.yaml", strings.Repeat(strings.Repeat("#", 1023)+"\n---\n", 1000)), nil},
		"document":  {"larger than a document", tree("p.yaml", "---\n---\n"+strings.Repeat("#", maxDocumentBytes)), []string{"2:1: the document is larger than 512 KiB"}},
		"documents": {"more than a file may have", tree("p.yaml", strings.Repeat("---\n", maxDocuments+1)), []string{"0:0: the file has more than 1000 documents (split it"}},
		"depth":     {"deeper than anything of a pool", tree("p.yaml", named("p", "spec:\n  labels:\n    a: "+strings.Repeat("[", 40)+strings.Repeat("]", 40)+"\n")), []string{"7:37: nested more than 32 deep"}},
		"nodes":     {"more than anything of a pool", tree("p.yaml", named("p", "spec:\n  nodeNames: ["+strings.Repeat("a,", maxNodes)+"]\n")), []string{"1:1: the document has more than 50000 keys and values"}},
		"expansion": {"more than anything of a pool, once written out", tree("p.yaml", named("p", "spec:\n  selector: {matchExpressions: [&e {key: a, operator: In, values: ["+strings.Repeat("a,", 999)+"]}"+strings.Repeat(", *e", 99)+"]}\n")), []string{"1:1: pool \"p\": the document has more than 50000 keys and values once its aliases are written out"}},
		"pool": {"larger than etcd takes a pool and its managed fields, once written out", tree("p.yaml", named("p", wideSelector(64, "v"+strings.Repeat("v", 9)))),
			[]string{"1:1: pool \"p\": has 611 KiB as it is stored, with every alias written out, and may have no more than 512 (divide it into"}},
		"pools fit":  {"as many as there may be", tree("p.yaml", pools(0, 1000), "q.yaml", pools(1000, 1000)), nil},
		"many pools": {"more than a tree may have", crowd(), []string{".:0:0: the tree has more than 10000 pools (point the path at fewer pools, and give the others a NodePoolSource"}},
		"pools": {"small files, large pools", tree("a.yaml", wide(0, 30), "b.yaml", wide(30, 30)),
			[]string{".:0:0: the pools are larger than 16 MiB together, as they are stored, with every alias written out: the first 42 have 16434 KiB, of which \"p10\" in a.yaml:75 has 391 KiB (point the path at fewer pools"}},
		"expansion of all": {"more than all may have, though none is valid", tree("p.yaml", strings.ReplaceAll(wide(0, 60), "spec:", "spec:\n  priority: x")),
			[]string{".:0:0: the documents have more than 2000000 keys and values together once their aliases are written out (point the path"}},
		"many files": {"more than a tree may have", manyFiles(maxFiles+1, ".yaml"), []string{".:0:0: the tree has more than 10000 YAML files (point the path"}},

		"entries":    {"more than are visited", endless{wide: true}, []string{".:0:0: the tree has more than 200000 files and folders (point the path"}},
		"long paths": {"folders without end", endless{}, []string{strings.Repeat("a/", 512) + "a:0:0: the folder's path is longer than 1024 bytes"}},
		"total": {"more than all files may have", func() fs.FS {
			files := fstest.MapFS{}
			comment := &fstest.MapFile{Data: []byte(strings.Repeat(strings.Repeat("#", 1023)+"\n", 512))}
			for i := range 129 {
				files[fmt.Sprintf("%03d.yaml", i)] = comment
			}
			return files
		}(), []string{".:0:0: the YAML files are larger than 64 MiB together (point the path"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Load(c.files)
			problems := problemsOf(t, err)
			mustBeSafe(t, problems)
			// Problems of single pools are reported as well.
			problems = slices.DeleteFunc(problems, func(p Problem) bool { return strings.Contains(p.Message, "spec.priority") })
			matchProblems(t, c.reason, problems, c.want)
		})
	}
}

func TestLoadBoundsTheNumberOfProblems(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 50 {
		files[fmt.Sprintf("%02d.yaml", i)] = &fstest.MapFile{Data: []byte(named(fmt.Sprintf("p%d", i), "spec:\n  labels:\n"+strings.Repeat("    a b: c\n", 300)))}
	}
	_, err := Load(files)
	problems := problemsOf(t, err)
	mustBeSafe(t, problems)
	if len(problems) != maxProblems+1 {
		t.Fatalf("%d problems", len(problems))
	}
	perFile := map[string]int{}
	for _, p := range problems {
		perFile[p.File]++
	}
	if perFile["00.yaml"] != maxDocumentProblems+1 {
		t.Errorf("%d problems of one document", perFile["00.yaml"])
	}
	if last := problems[len(problems)-1].Message; last != "15000 problems: the first 1000 are shown" {
		t.Errorf("the last one says %q", last)
	}
	if count := problems.Count(); count != 15000 {
		t.Errorf("counted are %d", count)
	}
	if of := problems[0].Message; of != `pool "p0": 300 problems in one document: the first 100 are shown` {
		t.Errorf("the first one says %q", of)
	}
}

// The same tree gives the same problems, also where not all are shown.
func TestLoadIsDeterministic(t *testing.T) {
	files := tree("a.yaml", named("a", "spec:\n  labels:\n"+strings.ReplaceAll(differentKeys(300), ": v", ": \"?\"")), "b.yaml", hostile()["many bad labels"])
	_, first := Load(files)
	for range 5 {
		if _, again := Load(files); again.Error() != first.Error() {
			t.Fatalf("first\n%v\nthen\n%v", first, again)
		}
	}
}

// wideSelector is a selector that is written once for all its expressions.
func wideSelector(expressions int, value string) string {
	return "spec:\n  selector: {matchExpressions: [&e {key: a, operator: In, values: [" + strings.TrimSuffix(strings.Repeat(value+", ", 750), ", ") + "]}" +
		strings.Repeat(", *e", expressions-1) + "]}\n"
}

// wide returns pools that are small as they are written, and large as they are read.
func wide(first, count int) string {
	var text strings.Builder
	for i := range count {
		text.WriteString("---\n" + named(fmt.Sprintf("p%d", first+i), wideSelector(59, "value"+fmt.Sprint(i%10))))
	}
	return text.String()
}

// pools returns minimal pools.
func pools(first, count int) string {
	var text strings.Builder
	for i := range count {
		text.WriteString("---\n" + named(fmt.Sprintf("p%d", first+i), ""))
	}
	return text.String()
}

func crowd() fs.FS {
	files := fstest.MapFS{}
	for i := range maxPools/maxDocuments + 1 {
		files[fmt.Sprintf("%02d.yaml", i)] = &fstest.MapFile{Data: []byte(pools(i*maxDocuments, maxDocuments))}
	}
	return files
}

func manyFiles(count int, extension string) fs.FS {
	files := fstest.MapFS{}
	for i := range count {
		files[fmt.Sprintf("%06d%s", i, extension)] = &fstest.MapFile{}
	}
	return files
}

// endless is a tree in which every folder has folders, as a few Git objects can
// encode: a thousand in the first, one in each of these.
type endless struct{ wide bool }

func (endless) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

func (endless) Stat(string) (fs.FileInfo, error) { return fstest.MapFS{"d/f": {}}.Stat("d") }

func (e endless) ReadDir(name string) ([]fs.DirEntry, error) {
	if e.wide && strings.Count(name, "/") < 2 {
		var entries []fs.DirEntry
		for i := range 1000 {
			one, _ := fstest.MapFS{fmt.Sprintf("%03d/f", i): {}}.ReadDir(".")
			entries = append(entries, one...)
		}
		return entries, nil
	}
	if e.wide {
		return nil, nil
	}
	return fstest.MapFS{"a/f": {}, "b/f": {}}.ReadDir(".")
}
