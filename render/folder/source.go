package folder

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// maxSourceBytes is how large a file with a source may be.
const maxSourceBytes = 256 << 10

// NoSourceError says that a path is not the file of a NodePoolSource. It may be of pools.
type NoSourceError struct{ Path string }

func (e *NoSourceError) Error() string {
	return fmt.Sprintf("%s has no %s of %s", e.Path, v1.NodePoolSourceKind, v1.GroupVersion)
}

// LoadSource reads the file of a NodePoolSource, and validates its windows. What is a
// folder, or has something else in it, gives a [*NoSourceError].
func LoadSource(path string) (*v1.NodePoolSource, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSourceBytes:
		return nil, &NoSourceError{path}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxSourceBytes))
	if err != nil {
		return nil, err
	}
	source := &v1.NodePoolSource{}
	err = yaml.UnmarshalStrict(text, source)
	switch {
	case source.Kind != v1.NodePoolSourceKind || source.APIVersion != v1.GroupVersion.String():
		return nil, &NoSourceError{path}
	case several(text):
		return nil, hint.Add(fmt.Errorf("%s has several documents", path), "name a file that has one "+v1.NodePoolSourceKind+" and nothing else")
	case err != nil:
		return nil, fmt.Errorf("%s: %s", path, sanitize.Line(err.Error()))
	}
	if problems := v1.ValidateCalendar(source.Spec.Windows, source.Spec.Exclusions, field.NewPath("spec")); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", path, sanitize.Line(problems.ToAggregate().Error()))
	}
	return source, nil
}

// several reports whether a text has more than one document that says anything. The
// parser reads the first, and is silent about the others.
func several(text []byte) bool {
	count := 0
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if err != nil {
			return count > 1
		}
		var content any
		if err := yaml.Unmarshal(document, &content); err != nil || content != nil {
			count++
		}
	}
}
