#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""serve-browser.py DRIVER ADDRESS FILE [FOLDER] - uses the page of gemkv serve in a browser, as a person would; for
tests/cli/serve-page.sh.  DRIVER speaks WebDriver, as chromedriver does.  Pictures of the page go to FOLDER.  If $AXE names
axe-core's script, it looks whether the page is accessible."""
import base64
import http.client
import json
import os
import re
import subprocess
import sys
import time

ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'


class Browser:
    def __init__(self, driver):
        self.process = subprocess.Popen([driver, '--port=0'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            found = re.search(r'on port ([1-9]\d*)', line)
            if found:
                self.port = int(found.group(1))
                break
        options = {'args': ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--window-size=1280,900']}
        self.path = '/session'
        self.path += '/' + self.post('', {'capabilities': {'alwaysMatch': {'goog:chromeOptions': options}}})['sessionId']

    def call(self, method, path, body=None):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=120)
        c.request(method, self.path + path, None if body is None else json.dumps(body))
        value = json.loads(c.getresponse().read())['value']
        if isinstance(value, dict) and 'error' in value:
            raise RuntimeError(value['message'])
        return value

    def post(self, path, body):
        return self.call('POST', path, body)

    def find(self, selector):
        return '/element/' + self.post('/element', {'using': 'css selector', 'value': selector})[ELEMENT]

    def type(self, selector, text):
        self.post(self.find(selector) + '/value', {'text': text})

    def click(self, selector):
        self.post(self.find(selector) + '/click', {})

    def run(self, script):
        return self.post('/execute/sync', {'script': script, 'args': []})

    def wait(self, script, seconds=90):
        """Until the expression is true."""
        began = time.time()
        while not self.run('return !!(%s)' % script):
            if time.time() - began > seconds:
                return False
            time.sleep(0.1)
        return True

    def picture(self, name):
        if len(sys.argv) > 4:
            with open(os.path.join(sys.argv[4], name + '.png'), 'wb') as f:
                f.write(base64.b64decode(self.call('GET', '/screenshot')))

    def accessible(self, what):
        """Each rule of axe that the page breaks is printed."""
        broken = []
        if os.environ.get('AXE'):
            with open(os.environ['AXE'], encoding='utf-8') as f:
                self.run('if (!window.axe) { (function () {' + f.read() + '}).call(window); } axe.run().then(r => window.found = r);')
            self.wait('window.found')
            broken = self.run('const v = window.found.violations; window.found = null; '
                              'return v.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" "))')
        check('accessible ' + what, not broken)
        for b in broken:
            print('   ', b)

    def close(self):
        try:
            self.call('DELETE', '')
        finally:
            self.process.terminate()


def check(what, good):
    print('%-50s %s' % (what, 'yes' if good else 'NO'))


def main():
    driver, address, file = sys.argv[1:4]
    b = Browser(driver)
    try:
        use(b, address, os.path.abspath(file))
    finally:
        b.close()


def use(b, address, file):
    shown = lambda id: 'document.getElementById("%s").checkVisibility()' % id
    text = lambda id: 'document.getElementById("%s").textContent' % id
    ended = '!document.getElementById("send").disabled'
    b.post('/url', {'url': address})
    check('the page names the model', b.wait(text('model')))
    check('nothing is marked as wrong', not b.run('return ' + shown('error')))
    b.accessible('at first')
    b.type('#file', file)
    check('a file is uploaded', b.wait('document.querySelector("#files button")'))
    b.type('#question', 'Who sat on a mat?')
    b.click('#send')
    check('an answer comes', b.wait(text('answer') + ' && ' + ended))
    check('... with passages and their places', b.run('return document.querySelectorAll("#passages li button.place").length') > 0)
    check('... and where they stand', b.run('return document.querySelectorAll("svg.map rect").length') > 0)
    check('... and what it cost', b.run('return /tokens kept/.test(%s)' % text('cost')))
    b.picture('answer')
    b.accessible('with an answer')
    b.click('#passages button.place')
    check('a passage opens in its text', b.wait('document.querySelector("#viewer[open] mark")'))
    check('... and is marked there', b.run(
        'return document.querySelector("#viewer mark").textContent.trim() === '
        'document.querySelector("#passages li p").textContent.trim()'))
    b.picture('viewer')
    b.accessible('with a text')
    b.click('#viewer button')
    b.type('#question', '\ue009a\ue000Where is the pass key?\ue007')       # Ctrl-A, then Enter
    check('Enter asks, and the first question is kept', b.wait('document.querySelectorAll("#history li").length === 2 && ' + ended))
    check('a script in a name is text', b.run('return !document.querySelector("#files b")'))

    other = b.post('/window/new', {'type': 'tab'})['handle']
    first = b.call('GET', '/window')
    b.post('/window', {'handle': other})
    b.post('/url', {'url': address})
    check('another tab has the file', b.wait('document.querySelector("#files button")'))
    b.type('#question', 'Who sat?')
    b.click('#send')
    check('... and asks', b.wait(text('answer') + ' && ' + ended))
    b.post('/window', {'handle': first})
    check('the first has its own answers', b.run('return document.querySelectorAll("#history li").length') == 2)

    # A text that takes a while, so that it can be stopped.
    b.run('const t = Array.from({length: 2000}, (v, i) => "Line " + i + ": the hat sat on mat " + i * i % 997 + ".").join("\\n");'
          'upload([new File([t], "<b>long.txt")])')
    check('a long text', b.wait('document.querySelectorAll("#files button").length === 2'))
    b.type('#question', '\ue009a\ue000Who?')
    b.click('#send')
    check('its progress is shown', b.wait(shown('progress')))
    b.picture('progress')
    b.click('#stop')
    check('it is stopped', b.wait(text('error') + ' === "stopped" && ' + ended))
    b.click('#files li:last-child button')
    check('a file is deleted', b.wait('document.querySelectorAll("#files button").length === 1'))
    check('no error of the page', b.run('return ' + text('error')) == 'stopped')


main()
