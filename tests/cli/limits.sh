# SPDX-License-Identifier: BSD-2-Clause
t ask -q -f text --memory 100K q 2>err; mask <err >&2
t ask -q -f text -c 20 q 2>err; mask <err >&2
gemkv ask -q -f text $small -c 5000 --memory 1G q >out && echo "fits"
