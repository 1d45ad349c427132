#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# packaging.sh - packaging/ fits what is built: versions, exported functions, each installed file in one package, each
# file of the repository in the tarball.
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM
debian=$src/packaging/debian
n=0
# ok NAME: by the last command's status; what is in $scratch/why says why not
ok() {
    if test $? = 0; then result=ok; else result='not ok'; sed 's/^/# /' "$scratch/why"; fi
    n=$((n + 1)); : >"$scratch/why"
    echo "$result $n - $1"
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
echo 1..6
: >"$scratch/why"

# What debian/libgemkv0.symbols promises is what the library exports.
sed -n 's/^	\(gkv_[a-z0-9_]*\);$/\1/p' "$src/src/libgemkv.map" | sort >"$scratch/map"
sed -n 's/^ \(gkv_[a-z0-9_]*\)@GEMKV_0 [0-9].*$/\1/p' "$debian/libgemkv0.symbols" | sort >"$scratch/symbols"
test -s "$scratch/map" && diff "$scratch/map" "$scratch/symbols" >"$scratch/why"
ok "Debian's list of symbols is the map's"

version=$(sed -n 's/^AC_INIT(\[gemkv\],\[\([^]]*\)\].*/\1/p' "$src/configure.ac")
{   sed -n '1s/^gemkv (\([^-)]*\).*/debian \1/p' "$debian/changelog"
    sed -n '1s/^gemkv-plugin-cuda (\([^-)]*\).*/debian-cuda \1/p' "$src/packaging/debian-cuda/changelog"
    sed -n 's/^Version: *//p' "$src/packaging/rpm/gemkv.spec" | sed 's/^/rpm /'
    sed -n 's/^  version = "\(.*\)";$/nix \1/p' "$src/packaging/nix/default.nix"
    sed -n 's/^  (version "\(.*\)")$/guix \1/p' "$src/packaging/guix/gemkv.scm"
    sed -n 's|^  url ".*/gemkv-\(.*\)\.tar\.xz"$|homebrew \1|p' "$src/packaging/homebrew/gemkv.rb"
} >"$scratch/versions"
test "$(grep -c " $version\$" "$scratch/versions")" = 6
status=$?
echo "configure.ac has $version:" | cat - "$scratch/versions" >"$scratch/why"
test $status = 0
ok "packages have the version of configure.ac"

# Optional libraries are named, so that a package never lacks one, or needs one, without notice.
sed -n 's/^GKV_\(LIB\|MPI\)(\[\([a-z0-9]*\)\].*/\2/p' "$src/configure.ac" | sort >"$scratch/want"
for file in debian/rules rpm/gemkv.spec nix/default.nix guix/gemkv.scm homebrew/gemkv.rb; do
    grep -o -e '--with\(out\)\{0,1\}-[a-z0-9]*' "$src/packaging/$file" | sed 's/^--[a-z]*-//' |
        grep -vx 'cuda\|systemdsystemunitdir' | sort -u |
        diff "$scratch/want" - >"$scratch/diff" || { echo "$file"; cat "$scratch/diff"; } >>"$scratch/why"
done
test ! -s "$scratch/why"
ok "packages name each optional library"

why=
test -f "$build/.libs/libgemkv.so" || why="no shared library in this build"
grep -q '^libdir = ${exec_prefix}/lib$' "$build/Makefile" || why="a build for other folders"
if test -n "$why"; then
    skip "each installed file is in one Debian package" "$why"
    skip "Debian packages have no file that is not installed" "$why"
else
    prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
    make -s -C "$build" install DESTDIR="$scratch/root" >"$scratch/why" 2>&1 || exit 99
    (cd "$scratch/root$prefix" && find . -type f -o -type l) |
        sed 's|^\./|usr/|; /\.la$/d; /\/gemkv\/gemkv-[a-z]*\.so$/d' | sort >"$scratch/installed"
    # Lines of debian/*.install that name files of make install, as patterns of sh; Debian has a folder for each
    # architecture, we have none.
    cat "$debian"/*.install | sed 's|usr/lib/\*/|usr/lib/|; s|\${env:UNITDIR}|usr/lib/systemd/system|; s/ .*//' |
        grep '^usr/' | grep -v '^usr/lib/python3' >"$scratch/patterns"
    : >"$scratch/why"
    while read -r file; do
        in=0
        while read -r pattern; do
            # shellcheck disable=SC2254
            case $file in $pattern | $pattern/*) in=$((in + 1)); echo "$pattern" >>"$scratch/used";; esac
        done <"$scratch/patterns"
        test $in = 1 || echo "$file: in $in packages" >>"$scratch/why"
    done <"$scratch/installed"
    test -s "$scratch/installed" -a ! -s "$scratch/why"
    ok "each installed file is in one Debian package"
    if grep -q systemd "$scratch/installed"; then
        sort -u "$scratch/used" >"$scratch/sorted"
        sort -u "$scratch/patterns" | comm -13 "$scratch/sorted" - >"$scratch/why"
        test ! -s "$scratch/why"
        ok "Debian packages have no file that is not installed"
    else
        skip "Debian packages have no file that is not installed" "a build without libmicrohttpd or units"
    fi
fi

# Files and folders that make dist puts into the tarball, and those that git has.
git -C "$src" ls-files >"$scratch/git" 2>/dev/null
if test -e "$src/.git" -a -s "$scratch/git"; then
    printf 'include Makefile\nlist:\n\t@for f in $(DISTFILES); do echo "$$f"; done\n' |
        make -s -C "$build" -f - list | sed "s|^$src/||; s|^\./||; s|^${srcdir:-.}/||" | sort -u >"$scratch/dist"
    # Names with a dot are for who has a checkout.
    awk 'NR == FNR { dist[$0]; next } /^\.|^m4\/\.gitkeep$/ { next }
         { for (f = $0; !(f in dist) && sub("/[^/]*$", "", f); ) ; if (!(f in dist)) print }' \
        "$scratch/dist" "$scratch/git" >"$scratch/why"
    test -s "$scratch/dist" -a ! -s "$scratch/why"
    ok "each file of the repository is in the tarball"
else
    skip "each file of the repository is in the tarball" "no git checkout"
fi
