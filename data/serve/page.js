// SPDX-License-Identifier: BSD-2-Clause
// page.js - the page of gemkv serve: files, a question, how far the reading is, the answer and what it rests on
'use strict';

const by = id => document.getElementById(id);
const files = [];               // { id, name, bytes, remark, chosen }
const turns = [];               // earlier questions and answers about the files that are chosen
let running = null;             // AbortController of the question that is asked
let key = '';

function make(name, text, attributes) {
    const e = document.createElement(name);
    if (text !== undefined)
        e.textContent = text;
    for (const [k, v] of Object.entries(attributes || {}))
        e.setAttribute(k, v);
    return e;
}

function show(id, visible) {
    by(id).hidden = !visible;
}

function fail(message) {
    by('error').textContent = message;
    show('error', message !== '');
}

// Every request: its answer, or an error whose message is the server's.
async function request(path, options) {
    const o = options || {};
    o.headers = Object.assign({}, o.headers, key ? { Authorization: 'Bearer ' + key } : {});
    const answer = await fetch(path, o);
    if (answer.ok)
        return answer;
    if (answer.status === 401) {
        show('key-row', true);
        by('key').focus();
    }
    let message = 'the server answered ' + answer.status;
    try {
        message = (await answer.json()).error.message;
    } catch (e) { /* no JSON: the status has to do */ }
    throw new Error(message);
}

// ---- files ------------------------------------------------------------------------------
function size(bytes) {
    return bytes < 1e6 ? Math.max(1, Math.round(bytes / 1e3)) + ' kB' : (bytes / 1e6).toFixed(1) + ' MB';
}

function list_files() {
    const list = by('files');
    list.replaceChildren();
    for (const f of files) {
        const item = make('li'), label = make('label'), box = make('input', undefined, { type: 'checkbox' });
        box.checked = f.chosen;
        box.addEventListener('change', () => { f.chosen = box.checked; turns.length = 0; });
        label.append(box, ' ', f.name);
        item.append(label, make('small', size(f.bytes) + (f.remark ? '; ' + f.remark : '')));
        if (f.id) {
            const remove = make('button', 'Delete', { type: 'button', 'aria-label': 'Delete ' + f.name });
            remove.addEventListener('click', () => remove_file(f));
            item.append(remove);
        } else {
            item.append(make('small', 'is being read'));
            box.disabled = true;
        }
        list.append(item);
    }
}

function from_server(f) {
    return { id: f.id, name: f.filename, bytes: f.bytes, remark: f.status_details, chosen: true };
}

async function upload(chosen) {
    fail('');
    for (const file of chosen) {
        const entry = { id: '', name: file.name, bytes: file.size, remark: '', chosen: true };
        const form = new FormData();
        files.push(entry);
        list_files();
        form.append('purpose', 'user_data');
        form.append('file', file, file.name);
        try {
            Object.assign(entry, from_server(await (await request('/v1/files', { method: 'POST', body: form })).json()));
            turns.length = 0;
        } catch (e) {
            files.splice(files.indexOf(entry), 1);
            fail(e.message);
        }
        list_files();
    }
}

async function remove_file(f) {
    try {
        await request('/v1/files/' + f.id, { method: 'DELETE' });
        files.splice(files.indexOf(f), 1);
        turns.length = 0;
        list_files();
    } catch (e) {
        fail(e.message);
    }
}

// ---- a question -------------------------------------------------------------------------
// The events of a stream: calls take for each object that comes as data.
async function events(answer, take) {
    const reader = answer.body.getReader(), decoder = new TextDecoder();
    let rest = '';
    for (;;) {
        const { done, value } = await reader.read();
        if (done)
            return;
        rest += decoder.decode(value, { stream: true });
        const lines = rest.split('\n');
        rest = lines.pop();
        for (const line of lines)
            if (line.startsWith('data: ') && line !== 'data: [DONE]')
                take(JSON.parse(line.slice(6)));
    }
}

function time(seconds) {
    return seconds < 90 ? Math.ceil(seconds) + ' s' : Math.ceil(seconds / 60) + ' minutes';
}

function show_progress(p) {
    const share = p.total ? p.processed / p.total : 0, seconds = p.time_ms / 1000;
    show('progress', true);
    by('bar').value = share;
    if (p.queue)
        by('left').textContent = p.queue + (p.queue > 1 ? ' questions' : ' question') + ' before this one';
    else if (share > 0.02 && share < 1)
        by('left').textContent = 'reading ' + p.total + ' tokens, ' + time(seconds * (1 - share) / share) + ' left';
    else
        by('left').textContent = 'reading';
}

function place(p) {
    const lines = p.lines[0] === p.lines[1] ? 'line ' + p.lines[0] : 'lines ' + p.lines[0] + '\u2013' + p.lines[1];
    return p.document + (p.page ? ' p. ' + p.page + (p.page_end ? '\u2013' + p.page_end : '') : '') + ', ' + lines;
}

// The text is UTF-8 at the server, and its bytes are counted.
async function open_text(p) {
    const bytes = new Uint8Array(await (await request('/v1/files/' + p.file_id + '/content')).arrayBuffer());
    const decoder = new TextDecoder(), part = (from, to) => decoder.decode(bytes.subarray(from, to));
    const mark = make('mark', part(p.start, p.end));
    by('viewer-title').textContent = place(p);
    by('viewer-text').replaceChildren(part(0, p.start), mark, part(p.end, bytes.length));
    by('viewer').showModal();
    mark.scrollIntoView({ block: 'center' });
}

// Where in its document, of so many bytes, each passage stands.
function draw_map(name, passages, end) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('class', 'map');
    svg.setAttribute('viewBox', '0 0 1000 10');
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', passages.length + ' passages of ' + name + ', where they stand in it');
    for (const p of passages) {
        const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
        bar.setAttribute('x', 1000 * p.start / end);
        bar.setAttribute('width', Math.max(2, 1000 * (p.end - p.start) / end));
        bar.setAttribute('height', 10);
        svg.append(bar);
    }
    return svg;
}

function show_evidence(evidence, annotations) {
    const cited = new Set(annotations.map(a => a.file_citation.passage)), list = by('passages'), maps = by('maps');
    list.replaceChildren();
    maps.replaceChildren();
    evidence.passages.forEach((p, i) => {
        const item = make('li', undefined, cited.has(i) ? { class: 'cited' } : {});
        if (p.file_id) {
            const button = make('button', place(p), { type: 'button', class: 'place' });
            button.addEventListener('click', () => open_text(p).catch(e => fail(e.message)));
            item.append(button);
        } else {
            item.append(make('b', place(p)));
        }
        item.append(make('p', p.text));
        list.append(item);
    });
    for (const d of evidence.documents) {
        const there = evidence.passages.filter(p => p.document === d.document && p.file_id === d.file_id);
        if (there.length)
            maps.append(make('small', d.document), draw_map(d.document, there, d.bytes));
    }
    by('cost').textContent = evidence.tokens.kept + ' of ' + evidence.tokens.prompt + ' tokens kept, ' +
        evidence.seconds.toFixed(1) + ' s' + (evidence.warning ? '; ' + evidence.warning : '');
}

function remember(question, answer) {
    const item = make('li'), details = make('details');
    turns.push({ role: 'user', content: question }, { role: 'assistant', content: answer });
    details.append(make('summary', question), make('p', answer, { class: 'answer' }));
    item.append(details);
    by('history').prepend(item);
    show('history-section', true);
}

async function ask(question) {
    const content = files.filter(f => f.chosen && f.id).map(f => ({ type: 'file', file: { file_id: f.id } }));
    let text = '', done = false;
    content.push({ type: 'text', text: question });
    running = new AbortController();
    by('asked').textContent = question;
    by('answer').textContent = '';
    by('cost').textContent = '';
    by('passages').replaceChildren();
    by('maps').replaceChildren();
    show('thought', false);
    show('result', true);
    const answer = await request('/v1/chat/completions', {
        method: 'POST', signal: running.signal, headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ stream: true, return_progress: true, messages: turns.concat({ role: 'user', content }) })
    });
    await events(answer, e => {
        const choice = e.choices && e.choices[0];
        if (e.error)
            throw new Error(e.error.message);
        if (e.prompt_progress)
            show_progress(e.prompt_progress);
        if (choice && choice.delta.content) {
            show('progress', false);
            text += choice.delta.content;
            by('answer').textContent = text;
        }
        if (choice && choice.delta.reasoning_content) {
            by('thought').lastElementChild.textContent = choice.delta.reasoning_content;
            show('thought', true);
        }
        if (e.gemkv) {
            done = true;
            show_evidence(e.gemkv, choice.delta.annotations || []);
            if (choice.finish_reason === 'length')
                by('answer').textContent = text + '\u2026';
        }
    });
    if (!done)
        throw new Error('the server has ended the answer early');
    remember(question, text);
}

async function send() {
    const question = by('question').value.trim();
    if (!question || running)
        return;
    fail('');
    show('stop', true);
    by('send').disabled = true;
    try {
        await ask(question);
    } catch (e) {
        fail(e.name === 'AbortError' ? 'stopped' : e.message);
    }
    running = null;
    show('progress', false);
    show('stop', false);
    by('send').disabled = false;
}

document.documentElement.classList.add('scripts');

// ---- events -----------------------------------------------------------------------------
by('ask').addEventListener('submit', e => { e.preventDefault(); send(); });
by('stop').addEventListener('click', () => running && running.abort());
by('question').addEventListener('keydown', e => {
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
        e.preventDefault();
        send();
    }
});
by('file').addEventListener('change', e => {
    upload([...e.target.files]);
    e.target.value = '';
});
by('key').addEventListener('change', e => {
    key = e.target.value;
    show('key-row', false);
    start();
});
for (const name of ['dragover', 'dragleave', 'drop'])
    document.addEventListener(name, e => {
        e.preventDefault();
        by('drop').classList.toggle('over', name === 'dragover');
        if (name === 'drop')
            upload([...e.dataTransfer.files]);
    });

async function start() {
    try {
        const models = await (await request('/v1/models')).json();
        by('model').textContent = models.data[0].id;
        by('library').textContent = models.data[0].library
            ? 'Without a document, the library ' + models.data[0].library + ' is asked.' : '';
        files.splice(0, files.length, ...(await (await request('/v1/files')).json()).data.map(from_server));
        list_files();
    } catch (e) {
        fail(e.message);
    }
}
start();
