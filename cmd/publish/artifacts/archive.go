package artifacts

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"
)

// member of an archive.
type member struct {
	name string
	mode int64
	data []byte
}

// tarball returns members as a tar.gz: the same bytes for the same members and date.
func tarball(members []member, date time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	for _, m := range members {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: m.name, Size: int64(len(m.data)), Mode: m.mode, ModTime: date, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return buffer.Bytes(), err
}

// zipped is the same as a ZIP archive, as Windows opens it.
func zipped(members []member, date time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	for _, m := range members {
		// The format has no date before 1980; UTC, as it has no zone.
		header := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: latest(date, zipEpoch).UTC()}
		header.SetMode(fs.FileMode(m.mode))
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(m.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buffer.Bytes(), err
}

var zipEpoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
