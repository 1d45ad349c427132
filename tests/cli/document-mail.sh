# SPDX-License-Identifier: BSD-2-Clause
# Messages and mailboxes.
printf 'Un caf\351, une cr\350me br\373l\351e et un No\353l tr\350s appr\351ci\351 des Fran\347ais, \340 bient\364t.\n' >latin
gemkv select --method full -q -f latin q 2>&1 | grep -q 'not UTF-8 text' && skip "built without uchardet"
printf '<html><p>a</p></html>\n' >page
gemkv select --method full -q -f page q 2>&1 | grep -q w3m && skip "built without libxml2"
show() { echo "== $1"; gemkv select --method full -q -f "$1" q 2>&1 | tr '\f' '@'; }
cat >one <<'M'
Received: from a
From: =?utf-8?Q?Zo=C3=AB?= =?iso-8859-1?Q?_M=FCller?= <z@example.org>
To: bob@example.org,
 ann@example.org
Subject: =?UTF-8?B?QnVkZ2V0IDIwMTk=?=
Date: Mon, 4 Mar 2019 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b1"

nobody reads this
--b1
Content-Type: multipart/alternative; boundary=b2

--b2
Content-Type: text/html

<p>not this</p>
--b2
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

The price is 1,250 =A4 and a long lin=
e ends.
--b2--
--b1
Content-Type: application/pdf; name="offer.pdf"
Content-Transfer-Encoding: base64

JVBERi0=
--b1
Content-Type: text/plain; charset=utf-8
Content-Disposition: attachment; filename="notes.txt"
Content-Transfer-Encoding: base64

VGhlIHJvb20gaXMgQjEyLg==
--b1--
nor this
M
show one
printf 'From a@b Mon Mar  4\nFrom: a@b\nSubject: first\n\nHello\n>From here on\n\nFrom c@d Tue Mar  5\nFrom: c@d\nSubject: second\n\nBye From here\n' >box
show box
printf 'From: the desk\nTo be or not to be, that is the question.\n' >letter
show letter
printf 'From: a@b\nSubject: bad\nContent-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\ntext\n--x' >bad
show bad
# Parts that no boundary divides, or another than is said, are read as they are.
printf 'From: a@b\nSubject: cut\nContent-Type: multipart/mixed;\n bo\n\n--y\n\nundelivered\n--y--\n' >cut
show cut
sed 's/bo$/boundary=z/' cut >other
show other
printf 'From: J\374rgen M\374ller <j@example.org>\nSubject: Gr\374\337e aus K\366ln\nContent-Type: text/plain; charset=utf-8\n\nDer Preis betr\303\244gt 5 \342\202\254.\n' >old
show old
# An empty plain part gives way to the HTML; lines end in CR LF; "From " within a paragraph begins no message.
printf 'From: a@b\r\nSubject: c\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n--x\r\n\r\n \r\n--x\r\nContent-Type: text/html\r\n\r\n<p>in HTML</p>\r\n--x--\r\n' >empty
show empty
printf 'From a@b Mon Mar  4\r\nFrom: a@b\r\nSubject: c\r\n\r\nNews\r\nFrom the desk\r\n' >crlf
show crlf | tr '\r' '%'
