#!/usr/bin/env bash
# Builds the Temporal server and the program that creates its tables, once, of the module that Go's proxy serves (10 minutes, 190 MB).
#   build.sh     says on standard output in which directory the programs server and sql are
set -euo pipefail
VERSION=v1.32.0 # the newest one for Go 1.26
DIR=${VNFKIT_TEMPORAL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/vnfkit-e2e/temporal-$VERSION}
mkdir -p "$DIR"
exec 3>&1 >&2 9>"$DIR/.lock"
flock 9 # another run may be at it
if [ ! -e "$DIR/server" ] || [ ! -e "$DIR/sql" ]; then
  began=$SECONDS
  rm -rf "$DIR/src" "$DIR/new"
  mkdir "$DIR/src"
  cd "$DIR/src"
  go mod init build
  module=$(go mod download -json "go.temporal.io/server@$VERSION" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  cp -r "$module" server # the versions of other modules are those of its own go.mod
  chmod -R u+w server
  cd server
  GOFLAGS=-mod=mod go build -ldflags '-s -w' -o "$DIR/new/" ./cmd/server ./cmd/tools/sql
  mv "$DIR"/new/* "$DIR/"
  rm -rf "$DIR/src" "$DIR/new"
  echo "Temporal $VERSION: $((SECONDS - began)) s"
fi
echo "$DIR" >&3
