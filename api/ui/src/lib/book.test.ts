import assert from 'node:assert/strict';
import test from 'node:test';
import { Book } from './book';
import type { Change, Reload, TimelineRow, Workload } from './types';

const ref = (name: string) => ({ kind: 'Deployment', namespace: 'shop', name });
const at = (n: number) => new Date(1_000_000_000_000 + n * 1000).toISOString();

const change = (n: number): Change => ({
  id: `c-${n}`, cluster: 'local', config: { kind: 'ConfigMap', namespace: 'shop', name: 'settings' }, type: 'Updated', keys: [], candidates: [],
  source: 'audit', verifiedAt: at(n),
});
const row = (n: number): TimelineRow => ({ change: change(n), reloads: [], pending: [] });
const reload = (id: string, n: number, outcome: string, name = 'cart', cluster = 'local'): Reload => ({
  id, cluster, workload: ref(name), outcome, decidedAt: at(n),
  causes: [{ changeID: `c-${n}`, config: change(n).config, why: 'Auto', keys: [], candidates: [], source: 'audit', verifiedAt: at(n) }],
});
const workload = (pending: string | undefined, reason?: string, cluster = 'local'): Workload => ({
  cluster, workload: ref('cart'), uid: 'u', dialect: 'stakater', strategy: 'env-vars', problems: [], updatedAt: at(0), verdict: { state: reason ? 'Held' : 'UpToDate', message: '' },
  dependencies: [{ config: change(0).config, why: 'Auto', uses: [], ...(pending && { pendingChange: pending }) }],
  ...(reason && { hold: { reason, since: at(0) } }),
});
const ids = (book: Book) => book.rows.map((r) => r.change.id);

test('rows are newest first, however they come', () => {
  const book = new Book();
  book.add([row(5), row(3)]);
  book.add([row(9), row(1)]);
  assert.equal(book.change(change(7)), true);
  assert.deepEqual(ids(book), ['c-9', 'c-7', 'c-5', 'c-3', 'c-1']);
});

test('the same change again is no new row', () => {
  const book = new Book();
  book.add([row(1)]);
  book.reload(reload('r', 1, 'Reloaded'));
  assert.equal(book.change({ ...change(1), source: 'sweep' }), false);
  assert.deepEqual(ids(book), ['c-1']);
  assert.equal(book.get('c-1')?.reloads.length, 1);
  assert.equal(book.get('c-1')?.change.source, 'sweep');
});

test('a reload ends the wait of its workload, and its rollout replaces it', () => {
  const book = new Book();
  book.add([row(1)]);
  book.workload(workload('c-1', 'Frozen'));
  assert.equal(book.get('c-1')?.pending[0]?.hold?.reason, 'Frozen');
  book.reload(reload('r', 1, 'Reloaded'));
  book.reload({ ...reload('r', 1, 'Reloaded'), rollout: { result: 'RolledOut', startedAt: at(1) } });
  assert.deepEqual(book.get('c-1')?.pending, []);
  assert.deepEqual(book.get('c-1')?.reloads.map((r) => r.rollout?.result), ['RolledOut']);
});

test('a reload that comes before its change is kept for it', () => {
  const book = new Book();
  book.reload(reload('r', 1, 'Reloaded'));
  book.change(change(1));
  assert.deepEqual(book.get('c-1')?.reloads.map((r) => r.id), ['r']);
});

test('a workload that waits for another change leaves the row of the one before', () => {
  const book = new Book();
  book.add([row(2), row(1)]);
  book.workload(workload('c-1'));
  book.workload(workload('c-2'));
  assert.deepEqual(book.get('c-1')?.pending, []);
  assert.equal(book.get('c-2')?.pending.length, 1);
  book.workload(workload(undefined));
  assert.deepEqual(book.get('c-2')?.pending, []);
});

test('a change whose workloads wait for a newer one of its config is superseded', () => {
  const book = new Book();
  const other = { ...row(3), change: { ...change(3), config: { ...change(3).config, name: 'other' } } };
  book.add([other, row(2), row(1)]);
  const superseded = () => [1, 2, 3].filter((n) => book.superseded(book.get(`c-${n}`)!));
  book.workload(workload('c-1', 'Frozen'));
  assert.deepEqual(superseded(), []);
  book.workload(workload('c-2', 'Frozen'));
  assert.deepEqual(superseded(), [1]);
  book.reload(reload('r', 2, 'Reloaded'));
  assert.deepEqual(superseded(), [1]);
});

test('a row is replaced, not altered', () => {
  const book = new Book();
  book.add([row(1)]);
  const before = book.get('c-1');
  book.reload(reload('r', 1, 'Reloaded'));
  assert.notEqual(book.get('c-1'), before);
  assert.equal(before?.reloads.length, 0);
});

test('a reload of two changes is told of both, whichever comes first', () => {
  const book = new Book();
  const both: Reload = { ...reload('r', 1, 'Reloaded'), causes: [1, 2].flatMap((n) => reload('r', n, 'Reloaded').causes) };
  book.change(change(1));
  book.reload(both);
  book.reload(reload('later', 1, 'Refused'));
  book.change(change(2));
  assert.deepEqual(['c-1', 'c-2'].map((id) => book.get(id)?.reloads.map((r) => r.id)), [['later'], ['r']]);
});

test('what is told of a change before it comes is told in its order', () => {
  const cases: [string, (book: Book) => void, string[], string[]][] = [
    ['a workload that waits', (b) => b.workload(workload('c-1', 'Frozen')), [], ['Frozen']],
    ['and waits otherwise', (b) => (b.workload(workload('c-1', 'Frozen')), b.workload(workload('c-1', 'Paused'))), [], ['Paused']],
    ['and waits no longer', (b) => (b.workload(workload('c-1', 'Frozen')), b.workload(workload(undefined))), [], []],
    ['and is rolled', (b) => (b.workload(workload('c-1', 'Frozen')), b.reload(reload('r', 1, 'Reloaded'))), ['Reloaded'], []],
    ['is not rolled, and waits', (b) => (b.reload(reload('r', 1, 'Refused')), b.workload(workload('c-1', 'Refused'))), ['Refused'], ['Refused']],
  ];
  for (const [name, told, reloads, pending] of cases) {
    const book = new Book();
    told(book);
    book.change(change(1));
    assert.deepEqual(book.get('c-1')?.reloads.map((r) => r.outcome), reloads, name);
    assert.deepEqual(book.get('c-1')?.pending.map((p) => p.hold?.reason), pending, name);
  }
});

test('what the server no longer lists is dropped, and can come again', () => {
  const book = new Book();
  book.add([row(5), row(4), row(3), row(2), row(1)]);
  book.renew([row(5), row(3)], true);
  assert.deepEqual(ids(book), ['c-5', 'c-3', 'c-2', 'c-1']);
  book.renew([row(9), row(8)], true);
  assert.deepEqual(ids(book), ['c-9', 'c-8']);
  book.renew([row(9)]);
  assert.deepEqual([ids(book), book.get('c-8')], [['c-9'], undefined]);
  book.add([row(8)]);
  assert.deepEqual(ids(book), ['c-9', 'c-8']);
  book.clear();
  assert.deepEqual([ids(book), book.get('c-9')], [[], undefined]);
});

test('what was heard of late is no proof that anything is gone', () => {
  const nineToOne = () => [9, 8, 7, 6, 5, 4, 3, 2, 1].map(row);
  const late = (n: number): TimelineRow => ({ ...row(n), change: { ...change(n), id: `late-${n}` } });
  const all = ids(Object.assign(new Book(), { rows: nineToOne() }));
  const cases: [string, TimelineRow[], TimelineRow[], string[]][] = [
    ['first of the page', nineToOne(), [late(2), row(9)], [...all.slice(0, 8), 'late-2', 'c-1']],
    ['last of the page', [row(9), row(2), row(8), row(7), row(6), row(5), row(4), row(3), row(1)], [row(9), row(2)], all],
    ['come since', nineToOne(), [row(11), late(3), row(9)], ['c-11', ...all.slice(0, 7), 'late-3', 'c-2', 'c-1']],
  ];
  for (const [name, before, page, want] of cases) {
    const book = new Book();
    book.add(before);
    book.renew(page, true);
    assert.deepEqual(ids(book).sort(), [...want].sort(), name);
  }
});

test('a book never has more rows than there is room for, and keeps the newest', () => {
  const book = new Book(3);
  book.add([row(5), row(4), row(3), row(2)]);
  assert.deepEqual([ids(book), book.get('c-2'), book.isFull], [['c-5', 'c-4', 'c-3'], undefined, true]);
  assert.equal(book.change(change(6)), true);
  assert.equal(book.change(change(1)), false);
  assert.deepEqual([ids(book), book.get('c-3'), book.get('c-1')], [['c-6', 'c-5', 'c-4'], undefined, undefined]);
  book.renew([row(9), row(8), row(7), row(6)]);
  assert.deepEqual(ids(book), ['c-9', 'c-8', 'c-7']);
});

test('workloads of one name in several clusters are told apart', () => {
  const book = new Book();
  book.add([row(1)]);
  for (const cluster of ['c2', 'c3']) book.workload(workload('c-1', 'Frozen', cluster));
  assert.deepEqual(book.get('c-1')?.pending.map((p) => p.cluster), ['c2', 'c3']);
  book.reload(reload('r', 1, 'Reloaded', 'cart', 'c2'));
  assert.deepEqual(book.get('c-1')?.pending.map((p) => p.cluster), ['c3']);
  book.reload(reload('r', 1, 'Refused', 'cart', 'c3'));
  assert.deepEqual(book.get('c-1')?.reloads.map((r) => `${r.cluster} ${r.outcome}`), ['c2 Reloaded', 'c3 Refused']);
  book.workload(workload('c-1', 'Refused', 'c3'));
  book.workload(workload(undefined, undefined, 'c3'));
  assert.deepEqual(book.get('c-1')?.pending, []);
});
