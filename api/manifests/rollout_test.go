package manifests

import "testing"

// The controller may list and evict pods only where that is asked for.
func TestRollout(t *testing.T) {
	for _, asked := range []bool{false, true} {
		objects, err := All(Options{Namespace: "ns", Image: "image:1", Rollout: asked})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, object := range objects {
			if object.GetName() == RolloutName {
				found++
			}
		}
		if want := map[bool]int{false: 0, true: 2}[asked]; found != want {
			t.Errorf("asked for: %t, there are %d objects of that name, want %d", asked, found, want)
		}
	}
}
