package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"time"
)

// file of an archive. A name that ends in a slash is one of a folder.
type file struct {
	name string
	mode int64 // 0644 where it is 0
	data []byte
}

// archive returns a tar of files, which belong to root.
func archive(files []file, date time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: f.mode, ModTime: date, Format: tar.FormatUSTAR}
		if f.mode == 0 {
			header.Mode = 0o644
		}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close() // writes to the buffer
	return buffer.Bytes(), err
}

func compressed(files []file, date time.Time) ([]byte, error) {
	content, err := archive(files, date)
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, failed := w.Write(content)
	err = errors.Join(err, failed, w.Close())
	return buffer.Bytes(), err
}
