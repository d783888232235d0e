package render

import (
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (l *loader) read(name string) error {
	// The name goes into annotations, events and terminals.
	if len(name) > maxFileName || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) {
		l.file(name, "the file's path is too long or has characters that cannot be printed", "rename the file")
		return nil
	}
	l.yamlFiles++
	if l.yamlFiles > maxFiles {
		l.file(".", fmt.Sprintf("the tree has more than %d YAML files", maxFiles), "point the path at the folder that holds the pools")
		return fs.SkipAll
	}
	file, err := l.files.Open(name)
	if err != nil {
		l.file(name, "cannot be read: "+err.Error(), "")
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		l.file(name, "cannot be read: "+err.Error(), "")
		return nil
	}
	if len(data) > maxFileBytes {
		l.file(name, fmt.Sprintf("the file is larger than %d KiB", maxFileBytes>>10), "split it, or keep it outside the path if it holds no pools")
		return nil
	}
	l.bytes += len(data)
	if l.bytes > maxTotalBytes {
		l.file(".", fmt.Sprintf("the YAML files are larger than %d MiB together", maxTotalBytes>>20), "point the path at the folder that holds the pools")
		return fs.SkipAll
	}
	if l.parse(name, data); l.overflow {
		return fs.SkipAll
	}
	return nil
}
