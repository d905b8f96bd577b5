import assert from 'node:assert/strict';
import test from 'node:test';
import { Parser } from './sse';

const stream = ': hello\r\n\r\nid: a-1\nevent: change\ndata: {"a":\ndata: 1}\n\nevent: empty\n\nid: a-2\rdata: x\r\rretry: 5\nid\ndata:y\n\n';
const want = [
  { id: 'a-1', type: 'change', data: '{"a":\n1}' },
  { id: 'a-2', type: 'message', data: 'x' },
  { id: '', type: 'message', data: 'y' },
];

test('a stream gives the same events wherever it is cut', () => {
  for (let size = 1; size <= stream.length; size++) {
    const parser = new Parser();
    const events = [];
    for (let at = 0; at < stream.length; at += size) events.push(...parser.push(stream.slice(at, at + size)));
    assert.deepEqual(events, want, `in pieces of ${size}`);
  }
});

test('an event without its empty line is not told', () => {
  assert.deepEqual(new Parser().push('data: x\n'), []);
});
