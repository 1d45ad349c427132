#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# build-aux/release.sh [OUT]
#
# make release: the tarball of the commit that is checked out, SHA256SUMS, the bill of materials (SPDX 2.3), and
# signatures when $GPG_KEY names a key.  The tarball is made twice, in folders of different names, and must be the same
# bytes; so must what is built of it.  Files have the time of the commit.  RELEASE_ONCE=1 makes everything once.
set -eu
out=${1:-release}
src=$(cd "$(dirname "$0")/.." && pwd)
test -e "$src/.git" || { echo "release: no git checkout" >&2; exit 1; }
test -z "$(git -C "$src" status --porcelain)" || { echo "release: commit the changes first" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(git -C "$src" log -1 --format=%ct) LC_ALL=C TZ=UTC
export SOURCE_DATE_EPOCH LC_ALL TZ
umask 022
mkdir -p "$out"
out=$(cd "$out" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# Time, owner and order of what is in the tarball are no matter of who makes it.
tar="tar --format=posix --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go-w,a+rX \
--mtime=@$SOURCE_DATE_EPOCH --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime"
tarball() {     # FOLDER: makes the tarball there
    mkdir -p "$1"
    git -C "$src" archive HEAD | tar xf - -C "$1"
    (cd "$1" && ./autogen.sh && ./configure &&
        make dist am__tar="$tar -chf - \"\$\$tardir\"" XZ_OPT="${XZ_OPT--6}") >"$1.log" 2>&1 ||
        { tail -n 20 "$1.log" >&2; exit 1; }
}
built() {       # FOLDER: builds and installs the tarball there
    mkdir "$1"
    tar xf "$work"/first/gemkv-*.tar.xz -C "$1" --strip-components=1
    (cd "$1" && ./configure --prefix=/usr CFLAGS="-O2 -g -ffile-prefix-map=$1=." &&
        make -j"$(getconf _NPROCESSORS_ONLN)" && make install DESTDIR="$1/installed") >"$1.log" 2>&1 ||
        { tail -n 20 "$1.log" >&2; exit 1; }
}
tarball "$work/first"
name=$(cd "$work/first" && echo gemkv-*.tar.xz)
if test -z "${RELEASE_ONCE-}"; then
    tarball "$work/another/folder"
    cmp "$work/first/$name" "$work/another/folder/$name"
    echo "release: the tarball made in another folder is the same"
    built "$work/build"
    built "$work/another/build"
    diff -r "$work/build/installed" "$work/another/build/installed"
    echo "release: what is built in another folder is the same"
fi
cp "$work/first/$name" "$out"
python3 "$src/build-aux/sbom.py" "$out/$name" >"$out/${name%.tar.xz}.spdx.json"
(cd "$out" && sha256sum "$name" "${name%.tar.xz}.spdx.json" >SHA256SUMS)
if test -n "${GPG_KEY-}"; then
    for file in "$name" SHA256SUMS; do
        gpg --batch --yes --local-user "$GPG_KEY" --armor --output "$out/$file.asc" --detach-sign "$out/$file"
    done
else
    echo "release: not signed, as \$GPG_KEY names no key"
fi
cat "$out/SHA256SUMS"
