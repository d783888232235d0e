package browser

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The package of npm that holds a Chromium without a screen for Linux, with the
// libraries and the fonts that it needs, and its checksum as npm writes it. It is
// unpacked and none of its own code is run.
const (
	npmPackage   = "@sparticuz/chromium"
	npmVersion   = "153.0.0"
	npmIntegrity = "sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
)

// npmParts are the files of the package that are unpacked, which are compressed
// with Brotli.
var npmParts = []string{"chromium", "al2023.tar", "fonts.tar", "swiftshader.tar"}

// decompress is for node, which comes with npm, as Go has no Brotli.
const decompress = `
const [, from, to] = process.argv;
require("stream").pipeline(
  require("fs").createReadStream(from),
  require("zlib").createBrotliDecompress(),
  require("fs").createWriteStream(to),
  (err) => { if (err) { console.error(err.message); process.exit(1); } },
);`

// launcher starts the program with the libraries and fonts that came with it.
const launcher = `#!/bin/sh
here=$(dirname "$0")
export LD_LIBRARY_PATH="$here/lib" FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/program" "$@"
`

const fontsConf = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`

func npmPossible() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("it has one for linux on amd64, and this is %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	for _, name := range []string{"npm", "node"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("there is no %s", name)
		}
	}
	return nil
}

// npmInstall creates the folder under a temporary name and renames it at the
// end, so that an existing one is complete, also when several install at the
// same time.
func npmInstall(ctx context.Context) error {
	path, err := cached()
	if err != nil {
		return err
	}
	place := filepath.Dir(path)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return fmt.Errorf("make the folder for browsers: %w", err)
	}
	aside, err := os.MkdirTemp(filepath.Dir(place), "installing-")
	if err != nil {
		return fmt.Errorf("make the folder for browsers: %w", err)
	}
	defer func() { _ = os.RemoveAll(aside) }() // it was moved, unless there is an error, which is returned
	if err := npmUnpack(ctx, aside); err != nil {
		return err
	}
	if err := check(ctx, filepath.Join(aside, filepath.Base(path))); err != nil {
		return err
	}
	// An existing one does not start, unless somebody else has just installed it.
	if check(ctx, path) == nil {
		return nil
	}
	if err := os.RemoveAll(place); err != nil {
		return fmt.Errorf("put the browser into its place: %w", err)
	}
	if err := os.Rename(aside, place); err != nil {
		return fmt.Errorf("put the browser into its place: %w", err)
	}
	return nil
}

func npmUnpack(ctx context.Context, dir string) error {
	err := quietly(ctx, dir, nil, "npm", "pack", npmPackage+"@"+npmVersion, "--silent", "--ignore-scripts", "--pack-destination", dir)
	if err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("npm pack has written %d archives (%w)", len(archives), err)
	}
	if err := verify(archives[0]); err != nil {
		return err
	}
	if err := unpack(archives[0], true, dir); err != nil {
		return err
	}
	packed := filepath.Join(dir, "package", "bin")
	for _, part := range npmParts {
		from, to := filepath.Join(packed, part+".br"), filepath.Join(dir, part)
		if err := quietly(ctx, dir, nil, "node", "-e", decompress, from, to); err != nil {
			return err
		}
		if strings.HasSuffix(part, ".tar") {
			if err := unpack(to, false, dir); err != nil {
				return err
			}
			if err := os.Remove(to); err != nil {
				return fmt.Errorf("unpack the browser: %w", err)
			}
		}
	}
	return errors.Join(
		os.Rename(filepath.Join(dir, "chromium"), filepath.Join(dir, "program")),
		os.Chmod(filepath.Join(dir, "program"), 0o755),
		os.Chmod(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "fonts.conf"), []byte(fontsConf), 0o644),
		os.WriteFile(filepath.Join(dir, "chromium"), []byte(launcher), 0o755),
		os.RemoveAll(filepath.Join(dir, "package")),
		os.Remove(archives[0]),
	)
}

// verify returns an error if an archive does not have the pinned checksum.
func verify(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("verify what npm has fetched: %w", err)
	}
	defer file.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("verify what npm has fetched: %w", err)
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != npmIntegrity {
		return fmt.Errorf("%s@%s is not what it was: its checksum is %s, and was %s", npmPackage, npmVersion, got, npmIntegrity)
	}
	return nil
}

// unpack writes the files of an archive below a folder, whatever their names.
func unpack(archive string, compressed bool, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("unpack the browser: %w", err)
	}
	defer file.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack the browser: %w", err)
	}
	defer func() { _ = root.Close() }() // a folder has nothing to lose

	var from io.Reader = file
	if compressed {
		if from, err = gzip.NewReader(file); err != nil {
			return fmt.Errorf("unpack %s: %w", archive, err)
		}
	}
	for files := tar.NewReader(from); ; {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", archive, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := write(root, header, files); err != nil {
			return fmt.Errorf("unpack %s of %s: %w", header.Name, archive, err)
		}
	}
}

func write(root *os.Root, header *tar.Header, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
