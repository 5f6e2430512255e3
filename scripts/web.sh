#!/usr/bin/env bash
# Builds the console's pages into web/dist, where the build of the program takes them from. Does nothing where the
# sources are as they were at the last build.
set -euo pipefail
source "$(dirname "$0")/need.sh"
cd "$root/web"

need_debian node nodejs npm
need_debian npm npm

# One build at a time: several checkouts of tests may ask for it at once.
mkdir -p node_modules
exec 9>node_modules/.console-lock
flock 9

packages=$(sha256sum package-lock.json | cut -d' ' -f1)
if [ "$(cat node_modules/.console-packages 2>/dev/null)" != "$packages" ]; then
    say "setting up the packages of the console's pages"
    exec 9>&-
    npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >&2
    exec 9>node_modules/.console-lock
    flock 9
    echo "$packages" >node_modules/.console-packages
fi

sources=$(find src public index.html vite.config.ts tsconfig.json package-lock.json -type f -print0 | sort -z |
    xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
if [ -f dist/index.html ] && [ "$(cat node_modules/.console-built 2>/dev/null)" = "$sources" ]; then
    exit 0
fi
say "building the console's pages"
npm run --silent build >&2
echo "$sources" >node_modules/.console-built
