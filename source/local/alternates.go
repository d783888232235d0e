package local

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nodepools/nodepools/source"
)

const (
	// maxAlternateDepth is how many repositories may borrow objects one from the next:
	// git's own limit.
	maxAlternateDepth = 5
	// maxObjectFolders bounds the repositories that one reads from.
	maxObjectFolders = 64
)

// objectFolders are the folders that the objects of a repository are in: its own, and
// those that objects/info/alternates names, there and in these. Each is in the list
// once, so that folders which name one another are no circle. One that is gone is left
// out, as git does; what it had is then missing.
func objectFolders(own string) ([]string, error) {
	if info, err := os.Stat(own); err != nil || !info.IsDir() {
		return nil, unreadableFile(&fs.PathError{Path: own, Err: errors.New("is no folder")})
	}
	folders, depth := []string{own}, map[string]int{resolved(own): 0}
	for i := 0; i < len(folders); i++ {
		named, err := alternates(folders[i])
		if err != nil {
			return nil, err
		}
		level := depth[resolved(folders[i])] + 1
		for _, folder := range named {
			key := resolved(folder)
			info, err := os.Stat(folder)
			if _, known := depth[key]; known || err != nil || !info.IsDir() {
				continue
			}
			if level > maxAlternateDepth || len(folders) == maxObjectFolders {
				return nil, source.NewError(source.ErrTooLarge, "", fmt.Sprintf("the repository borrows objects over more than %d others, or from more than %d", maxAlternateDepth, maxObjectFolders-1)).
					WithHint("make a clone that has all objects itself: git repack -a -d, and delete objects/info/alternates")
			}
			depth[key], folders = level, append(folders, folder)
		}
	}
	return folders, nil
}

// alternates are the folders that a folder of objects names.
func alternates(folder string) ([]string, error) {
	data, err := readRegular(filepath.Join(folder, "info", "alternates"), maxConfigBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadableFile(err)
	}
	var named []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxConfigBytes)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, `"`) {
			if unquoted, err := strconv.Unquote(line); err == nil {
				line = unquoted
			}
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(folder, line)
		}
		named = append(named, line)
	}
	return named, lines.Err()
}
