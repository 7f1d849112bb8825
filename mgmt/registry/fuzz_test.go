package registry_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// FuzzChooseImage: what is chosen is what Docker has said, and never an option of the command that gets it.
func FuzzChooseImage(f *testing.F) {
	for _, seed := range []string{"", "Loaded image: registry:2\n", "Loaded image: a:1\nLoaded image: b.example/registry:2\n", "Loaded image ID: sha256:00\n",
		"The image registry:latest already exists, renaming the old one\nLoaded image: registry:latest\n", "Loaded image: --help", "Loaded image:  \n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		image, err := registry.ChooseImage(said)
		if err != nil {
			return
		}
		if image == "" || strings.HasPrefix(image, "-") || !strings.Contains(said, image) || strings.ContainsAny(image, " \n") {
			t.Errorf("%q of %q", image, said)
		}
	})
}

// FuzzMatches: whatever a machine says its file of users is, only the right users are.
func FuzzMatches(f *testing.F) {
	const hash = "$2a$10$0ikU/gJ6s4omXyuqDJrcUOO3J0efQjBeZvF8PxSHjixBIRxZhAUVy" // of "right"
	// Of the last character of the salt, four bits are not used.
	right := regexp.MustCompile(`^robot:\$2a\$10\$0ikU/gJ6s4omXyuqDJrcU[O-Za-d]O3J0efQjBeZvF8PxSHjixBIRxZhAUVy\n?$`)
	for _, seed := range []string{"", "robot:" + hash + "\n", "robot:" + hash, "robot:right\n", "robot\n", ":\n", "robot:$2y$31$\n", "robot:$2a$31$" + strings.Repeat("a", 53), "robot:" + hash + "\x9c",
		"robot:" + strings.Replace(hash, "UO", "UP", 1)} {
		f.Add(seed)
	}
	users := []registry.User{{Username: "robot", Password: vnflcm.NewSecret("right")}}
	f.Fuzz(func(t *testing.T, file string) {
		if registry.Matches([]byte(file), users) && !right.MatchString(file) {
			t.Errorf("%q", file)
		}
	})
}
