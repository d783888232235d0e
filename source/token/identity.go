package token

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/nodepools/nodepools/source"
)

// Environment has what a webhook of a cloud has put into the pod of the controller.
// os.Getenv is one.
type Environment func(name string) string

// variables reads variables that all have to be there. webhook says who sets them.
func (e Environment) variables(webhook string, names ...string) ([]string, error) {
	var values, missing []string
	for _, name := range names {
		value := e(name)
		if value == "" {
			missing = append(missing, name)
		}
		values = append(values, value)
	}
	if missing != nil {
		return nil, source.NewError(source.ErrCredential, "", "the controller has no "+strings.Join(missing, " and no ")+" in its environment").WithHint(webhook)
	}
	return values, nil
}

// projected reads the token of the ServiceAccount that the kubelet has put into a file.
// It is replaced there while it lasts, so it is read each time.
func projected(variable, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		text := "the file of " + variable + " cannot be read"
		if errors.Is(err, fs.ErrNotExist) {
			text = "the file of " + variable + " does not exist"
		}
		return "", source.NewError(source.ErrCredential, "", text).WithHint("see whether the pod of the controller has the volume with the projected token")
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	text := strings.TrimSpace(string(content))
	if err != nil || !usable(text) {
		return "", source.NewError(source.ErrCredential, "", "the file of "+variable+" has no token").WithHint("see whether the pod of the controller has the volume with the projected token")
	}
	return text, nil
}

// wrongHost explains a URL that is not one of the cloud whose identity is asked for.
func wrongHost(hosts string) error {
	return source.NewError(source.ErrCredential, "", "what the identity of the controller is given is sent to "+hosts+" alone, by https, and the URL of the source is another one").
		WithHint("correct the URL, or leave spec.provider out and name a Secret with spec.secretRef")
}
