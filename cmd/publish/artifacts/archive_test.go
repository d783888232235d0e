package artifacts

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/nodepools/nodepools/cmd/publish/program"
)

var source = program.Source{Version: "v1.2.3", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))}

// Windows opens a ZIP archive, and starts what ends in .exe.
func TestArchiveOfWindows(t *testing.T) {
	p := Program{Platform: program.Platform{OS: "windows", Arch: "amd64"}, Executable: []byte("program")}
	name, content, err := archive(source, p, []byte("license"))
	if err != nil || name != "nodepools_v1.2.3_windows_amd64.zip" {
		t.Fatalf("%s: %v", name, err)
	}
	reader, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range reader.File {
		stream, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(stream)
		if err != nil {
			t.Fatal(err)
		}
		got[file.Name] = string(data) + " " + file.Mode().String() + " " + file.Modified.UTC().Format(time.RFC3339)
	}
	for name, want := range map[string]string{
		"LICENSE":       "license -rw-r--r-- 2026-01-02T02:04:05Z",
		"nodepools.exe": "program -rwxr-xr-x 2026-01-02T02:04:05Z",
	} {
		if got[name] != want || len(got) != 2 {
			t.Errorf("%s is %q, want %q, of %d", name, got[name], want, len(got))
		}
	}
}

// The same content is the same archive, wherever the clock of the machine stands, and
// one of 1970 is one at all.
func TestArchivesAreTheSame(t *testing.T) {
	for reason, date := range map[string]time.Time{"a date": source.Date, "none": time.Unix(0, 0)} {
		for _, system := range []string{"linux", "windows"} {
			p := Program{Platform: program.Platform{OS: system, Arch: "amd64"}, Executable: bytes.Repeat([]byte("program"), 1000)}
			var all [][]byte
			for _, zone := range []*time.Location{time.UTC, time.FixedZone("", -7*3600)} {
				s := source
				s.Date = date.In(zone)
				_, content, err := archive(s, p, nil)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, content)
			}
			if !bytes.Equal(all[0], all[1]) {
				t.Errorf("%s, %s: the archives differ", reason, system)
			}
		}
	}
}
