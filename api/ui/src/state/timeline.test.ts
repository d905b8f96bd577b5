import { answering, asked, problem, tell, until } from './testpage';
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Change, ChangeRow, List } from '../lib/types';
import { said } from './announcer';
import { session } from './client';
import * as eventStream from './eventstream';
import { link } from './eventstream';
import { complete, fault, fresh, readMore, start, store } from './timeline';

const change = (n: number): Change => ({
  id: `c-${n}`,
  cluster: 'local',
  config: { kind: 'ConfigMap', namespace: 'shop', name: 'settings' },
  type: 'Updated',
  keys: [],
  candidates: [],
  source: 'audit',
  verifiedAt: new Date(1_000_000_000_000 + n * 1000).toISOString(),
});
const page = (next: string | undefined, ...ns: number[]): List<ChangeRow> => ({
  items: ns.map((n) => ({ ...change(n), reloads: [], pending: [] })),
  metadata: { ...(next && { continue: next }) },
  warnings: [],
});
const ids = () => store.rows.map((r) => r.change.id).join(' ');
const questions = () => asked.filter((path) => path.startsWith('changes')).map((path) => new URLSearchParams(path.split('?')[1]).get('continue') ?? 'first');

// anew has the timeline read as by somebody else, of pages that come one after the other.
async function anew(answer: (from: string) => unknown, want: string): Promise<void> {
  answering((path) => (path.startsWith('changes') ? answer(new URLSearchParams(path.split('?')[1]).get('continue') ?? 'first') : {}));
  session.value = { token: '' };
  await until(`the first page is read, and the stream is open: ${ids()}`, () => ids() === want && link.value === 'live');
}

test('pages are read one after the other, to the end', async () => {
  start();
  eventStream.start();
  await anew((from) => (from === 'first' ? page('x', 9, 8) : page(undefined, 7)), 'c-9 c-8');
  assert.equal(complete.value, false);
  assert.equal(await readMore(), true);
  assert.deepEqual([ids(), complete.value], ['c-9 c-8 c-7', true]);
  assert.equal(await readMore(), false);
});

test('what comes live is a row, is counted, and is announced', async () => {
  await anew(() => page(undefined, 2, 1), 'c-2 c-1');
  fresh.value = 0;
  tell('change', change(3));
  tell('change', { ...change(4), type: 'Baseline' });
  await until('it is a row', () => ids() === 'c-3 c-2 c-1');
  assert.equal(fresh.value, 1);
  await until('it is announced', () => said.value.startsWith('1 new change. Newest: ConfigMap settings'));
});

test('an answer that was made before an event takes nothing of it away', async () => {
  let release: (page: List<ChangeRow>) => void = () => undefined;
  await anew((from) => (from === 'first' ? page('x', 3, 2) : new Promise((done) => (release = done))), 'c-3 c-2');
  const reading = readMore();
  tell('change', change(4));
  await until('it is a row', () => ids() === 'c-4 c-3 c-2');
  tell('reload', { id: 'r', cluster: 'local', workload: { kind: 'Deployment', namespace: 'shop', name: 'cart' }, outcome: 'Reloaded', decidedAt: change(5).verifiedAt, causes: [{ changeID: 'c-1' }] });
  await new Promise((done) => setTimeout(done, 200));
  release(page(undefined, 1));
  await reading;
  assert.deepEqual([ids(), store.get('c-1')?.reloads.length], ['c-4 c-3 c-2 c-1', 1]);
});

test('a place that the server has forgotten is given up', async () => {
  await anew((from) => (from === 'first' ? page('old', 5) : problem(410)), 'c-5');
  assert.equal(await readMore(), false);
  await anew((from) => (from === 'first' ? page('new', 6) : page(undefined, 5)), 'c-6');
  assert.equal(await readMore(), true);
  assert.deepEqual([ids(), questions()], ['c-6 c-5', ['first', 'new']]);
});

test('what may not be seen any more is gone at once', async () => {
  await anew((from) => (from === 'first' ? page('x', 5) : problem(403)), 'c-5');
  await readMore();
  assert.deepEqual([ids(), fault.value?.kind], ['', 'forbidden']);
});
