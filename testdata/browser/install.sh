#!/bin/sh
# Installs the Chromium of tests into the user's cache, from a package of npm with its
# libraries and fonts. No code of the package is run. On other systems, and where there
# is no npm, install Chromium or Chrome by other means.
set -eu
version=153.0.0
sum=8e2196a92bcf31dbb8f8ff538a562a011ef21063c41c8371fa50af13f36a34efc41d8cc5ff1d615222394fa8a8548b7b744cbb9fcf1bcb24f4be4f9d9ec810c0
target=${XDG_CACHE_HOME:-$HOME/.cache}/nodepools/chromium/$version
if [ -n "${NODEPOOLS_CHROMIUM-}" ] || [ -x "$target/chromium" ] || command -v chromium google-chrome >/dev/null; then
	exit 0
fi
if [ "$(uname -sm)" != "Linux x86_64" ] || ! command -v npm >/dev/null; then
	echo "THE TESTS THAT NEED A BROWSER WILL NOT RUN: install Chromium" >&2
	exit 0
fi
mkdir -p "$(dirname "$target")"
scratch=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
npm pack --silent --ignore-scripts "@sparticuz/chromium@$version" >/dev/null
echo "$sum  sparticuz-chromium-$version.tgz" | sha512sum --check --quiet
tar -xzf ./*.tgz
for part in chromium al2023.tar fonts.tar swiftshader.tar; do
	node -e 'process.stdout.write(zlib.brotliDecompressSync(fs.readFileSync(0)))' <"package/bin/$part.br" >$part
done
for archive in *.tar; do tar -xf "$archive"; done
mv chromium program
cat >fonts.conf <<'END'
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
END
cat >chromium <<'END'
#!/bin/sh
here=$(dirname "$0")
export LD_LIBRARY_PATH="$here/lib" FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/program" "$@"
END
chmod 755 . program chromium
rm -rf package ./*.tgz ./*.tar
mv "$scratch" "$target"
