# SPDX-License-Identifier: BSD-2-Clause
# Values are cut to digits that do not depend on the order of sums.
digits() {
    awk '$1 == "perplexity" { $2 = sprintf("%.3g", $2); $4 = sprintf("%.2g", $4) } 1'
}
t eval perplexity -f text -c 64 | digits
t eval perplexity -c 64 --kv-type f32 --chunk 16 -t 3 <text | digits
gemkv eval perplexity -f text -c 128 --json |
    sed 's/\("\(score\|mean\|error\|predicted\|peak\)": \)[^,}]*/\1N/g'
gemkv eval perplexity --tty -f text -c 256 2>&1 >/dev/null | tr '\r' '\n' | grep -o '^[a-z].* 0 %'
# the JSON and the text say the same
gemkv eval perplexity -f text -c 64 >out
gemkv eval perplexity -f text -c 64 --json | sed 's/.*"mean": \([^,]*\).*/\1/' | {
    read -r mean
    printf 'perplexity %.4f\n' "$mean"
} | cut -c1-15 | { read -r begin; grep -c "^$begin" out; }
t eval perplexity -f text -c 4096
t eval perplexity -f text -c 7
t eval perplexity -f text -f text
t eval perplexity text
t eval perplexity -f nowhere
t eval perplexity -f text -c 64 --memory 100K 2>err
mask <err
t eval
t eval bogus
t eval --json
t eval --help
t eval perplexity --help | head -n 3
