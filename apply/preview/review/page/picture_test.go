package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/browser"
)

// readmePicture is what the README shows.
const readmePicture = "../../../../examples/review.png"

// pictureView is how it is taken; it is bounded in height so that the README is
// not all picture.
var pictureView = browser.View{Width: 1280, Height: 1225, Scale: 1.25}

// TestPicture holds the picture of the README to the page as it is. It is made with
// -update where there is a browser; no two browsers draw the same, so what is
// compared is the page that it was made of.
func TestPicture(t *testing.T) {
	page := written(t, example(), Options{})
	of := fmt.Sprintf("%x", sha256.Sum256([]byte(page)))
	if *update && madeOf(t) != of {
		p := browser.Start(t).Open(t, page, pictureView)
		if err := os.WriteFile(readmePicture, marked(p.Screenshot(t, false), of), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := madeOf(t); got != of {
		t.Errorf("%s is of another page (%s) than the one that is written (%s): renew it with -update, where there is a browser", readmePicture, got, of)
	}
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "(examples/review.png)") {
		t.Errorf("the README does not show %s", readmePicture)
	}
}

const keyword = "Page"

// marked is a PNG with the page that it was made of, in a chunk of text before the
// last one.
func marked(png []byte, of string) []byte {
	const end = 12 // bytes of the last chunk
	data := append([]byte("tEXt"+keyword+"\x00"), of...)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)-len("tEXt")))
	chunk = append(chunk, data...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(data))
	at := len(png) - end
	return bytes.Join([][]byte{png[:at], chunk, png[at:]}, nil)
}

// madeOf is what a picture was marked with; empty for none.
func madeOf(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(readmePicture)
	if err != nil && !*update {
		t.Fatal(err)
	}
	_, after, found := bytes.Cut(data, []byte("tEXt"+keyword+"\x00"))
	if !found || len(after) < 2*sha256.Size {
		return ""
	}
	return string(after[:2*sha256.Size])
}
