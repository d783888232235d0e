package auth

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// URLPrefixFile is the file of a folder that says which URLs its credential is for, as
// the annotation on a Secret does.
const URLPrefixFile = "url-prefix"

// maxFile is the size of a file of a folder: a Secret may have a megabyte in total.
const maxFile = 1 << 20

// Folder reads a credential from a folder that has the keys of a Secret as files, and
// which URLs it is for.
func Folder(folder fs.FS) (credential *Credential, prefix string, err error) {
	data := map[string][]byte{}
	names := append([]string{URLPrefixFile}, keys...)
	for alias := range aliases {
		names = append(names, alias)
	}
	for _, name := range names {
		content, err := read(folder, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		data[name] = content
	}
	if data[URLPrefixFile] == nil {
		return nil, "", invalid("there is no file " + URLPrefixFile).WithHint("write the URL that the credential is for into it, such as https://git.example.com/platform: it is sent to none outside of that")
	}
	credential, err = Parse(data)
	return credential, line(data[URLPrefixFile]), err
}

func read(folder fs.FS, name string) (content []byte, err error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	}
	if content, err = io.ReadAll(io.LimitReader(file, maxFile+1)); err == nil && len(content) > maxFile {
		err = errors.New("is larger than a Secret may be")
	}
	return content, err
}
