package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// programPath is where the program is in the image.
const programPath = "usr/local/bin/nodepools"

// user of the image, by number, so that a cluster that demands runAsNonRoot can see
// that it is not root.
const user = 65532

// file of the image. All belong to root: nothing in the image is written to but /tmp.
type file struct {
	path string
	mode fs.FileMode
	data []byte // nil for a folder
}

// baseFiles are what is in the image beside the program, in the order of their paths.
// They change with the certificates alone, and so does the digest of their layer.
//
// Zone files are in the program, and there is no shell.
func baseFiles() []file {
	passwd := fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/home/nonroot:/sbin/nologin\n", user, user)
	group := fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", user)
	folder := func(path string) file { return file{path: path, mode: fs.ModeDir | 0o755} }
	return []file{
		folder("etc"),
		{path: "etc/group", mode: 0o644, data: []byte(group)},
		{path: "etc/passwd", mode: 0o644, data: []byte(passwd)},
		folder("etc/ssl"),
		folder("etc/ssl/certs"),
		{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: certificates()},
		folder("home"),
		folder("home/nonroot"),
		{path: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		folder("usr"),
		folder("usr/local"),
		folder("usr/local/bin"),
	}
}

func programFile(program []byte) file { return file{path: programPath, mode: 0o755, data: program} }

// epoch is the time of every file: when one was written is no property of its content.
var epoch = time.Unix(0, 0).UTC()

// archive returns files as a layer that is not compressed.
func archive(files []file) ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.path, Size: int64(len(f.data)), Mode: int64(f.mode.Perm()), ModTime: epoch,
			Format: tar.FormatUSTAR,
		}
		if f.mode.IsDir() {
			header.Typeflag, header.Name = tar.TypeDir, f.path+"/"
		}
		if f.mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buffer.Bytes(), err
}

// WriteTree writes the files of the image, with this program, to a folder that does not
// exist or is empty: what a builder of images copies to build the same image.
func WriteTree(dir string, program []byte) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := append(baseFiles(), programFile(program))
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		var err error
		if f.mode.IsDir() {
			err = os.Mkdir(path, 0o755)
		} else {
			err = os.WriteFile(path, f.data, 0o644)
		}
		if err != nil {
			return err
		}
		// The umask had a say until here.
		if err := os.Chmod(path, f.mode); err != nil {
			return err
		}
	}
	// Last: what is written into a folder changes its time.
	for _, f := range files {
		if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(f.path)), epoch, epoch); err != nil {
			return err
		}
	}
	return nil
}
