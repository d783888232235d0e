package folder

import (
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/sanitize"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// maxSourceBytes is how large a file with a source may be.
const maxSourceBytes = 256 << 10

// LoadSource reads the file of a NodePoolSource; nil where the path is no file, or holds
// something else. Its windows are valid.
func LoadSource(path string) (*v1.NodePoolSource, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSourceBytes {
		return nil, nil // for who reads pools to report
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
	if err := yaml.UnmarshalStrict(text, source); source.Kind != v1.NodePoolSourceKind || source.APIVersion != v1.GroupVersion.String() {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %s", path, sanitize.Line(err.Error()))
	}
	if problems := v1.ValidateCalendar(source.Spec.Windows, source.Spec.Exclusions, field.NewPath("spec")); len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", path, sanitize.Line(problems.ToAggregate().Error()))
	}
	return source, nil
}
