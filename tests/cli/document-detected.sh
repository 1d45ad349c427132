# SPDX-License-Identifier: BSD-2-Clause
# An encoding that nothing names is detected, and that is said; if there is no way to detect it, advice is given.
printf 'Un caf\351, une cr\350me br\373l\351e et un No\353l tr\350s appr\351ci\351 des Fran\347ais, \340 bient\364t.\n' >latin
gemkv select --method full -f latin q >got 2>err
grep -q 'iconv(1)' err || cat err
if grep 'not UTF-8 text' err >/dev/null; then skip "built without uchardet"; fi
head -n 1 err
tail -n 1 got
