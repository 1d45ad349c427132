# SPDX-License-Identifier: BSD-2-Clause
t ask -q -f text --memory 100K q 2>err; mask <err >&2
t ask -q -f text -c 20 q 2>err; mask <err >&2
gemkv ask -q -f text $small -c 5000 --memory 1G q >out && echo "fits"
# One word as long as the text: memory for merging it counts too.  Under a sanitizer, less than a MiB is left.
head -c 14000000 /dev/zero | tr '\0' a >word
t ask -q -f word --memory 100M q 2>err; mask <err | sed 's/N bytes/N MiB/g' >&2
head -c 120000000 /dev/zero | tr '\0' a >word
t ask -q -f word --memory 100M q 2>err; mask <err >&2
# Endless text is refused as soon as it is too long.
yes 'a b' | t ask -q -c 1000 -f - q 2>err; sed 's/[0-9]\{5,\}/many/' err >&2
