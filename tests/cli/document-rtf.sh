# SPDX-License-Identifier: BSD-2-Clause
# RTF: characters of a code page and of Unicode, tables, notes, superscripts; what is not text is left out.
cat >a.rtf <<'R'
{\rtf1\ansi\ansicpg1250{\fonttbl{\f0 Arial;}}{\colortbl;\red0;}{\info{\title Not this}}{\*\generator Nor this}
\pard Caf\'e9 \u8364? 5\u8212-x\~y\_z \{braces\} 10{\super 6} {\v hidden}\v too\v0  seen{\uc0\u233}t{\uc2\u201??t}\u55357?\u56832?.\par
\trowd\cellx1\cellx2\pard\intbl Year\cell Staff\cell\row
\trowd\cellx1\cellx2\pard\intbl 2018\cell 412\par people\cell\row
\pard Note{\footnote\pard The note.\par} here.\par\page Next{\field{\*\fldinst HYPERLINK "x"}{\fldrslt link}}{\pict 00ff}\bin4 }}}}end\par
{\shp{\*\shpinst{\shptxt Box\par}}}{\*\unknown no}}
R
gemkv select --method full -q -f a.rtf q | tr '\f' '@'
head -c 300 a.rtf >cut.rtf; t ask -q -f cut.rtf q
# The code page of old PCs, a character whose second byte looks like ASCII, what ends a superscript, a bullet.
printf '{\\rtf1\\pc \\bullet  caf\\'"'"'82 10{\\super\\plain 6}}' >pc.rtf; gemkv select --method full -q -f pc.rtf q
printf '{\\rtf1\\ansicpg932 \\'"'"'83A}' >wide.rtf; gemkv select --method full -q -f wide.rtf q
