import assert from 'node:assert/strict';
import test from 'node:test';
import { attentionOf, remarksOf, worstFirst } from './attention';
import { hasWords, matches } from './filter';
import { duration, keysText, personName, relative, verbOf, who } from './format';
import { arrange, cut, type Graph, level, narrowGraph } from './graph';
import { partsOf, stateOf, supersededIn, toneOf, wordsOf } from './outcome';
import { ticks } from './ticks';
import type { Candidate, ChangeRow, Cluster, Workload } from './types';

const now = Date.parse('2026-11-21T12:00:00Z');
const before = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const candidate = (user: string): Candidate => ({ user, verb: 'patch', time: before(0), sure: true, userAgent: 'kubectl/v1.37 (linux)' });
const workload = (name: string) => ({ kind: 'Deployment', namespace: 'shop', name });
const reload = (name: string, outcome: string) => ({ id: `r-${name}`, cluster: 'local', workload: workload(name), outcome, decidedAt: before(0) });

const row: ChangeRow = {
  id: 'c-1',
  cluster: 'local',
  config: { kind: 'Secret', namespace: 'shop', name: 'smtp' },
  type: 'Updated',
  keys: [{ key: 'password', op: 'Changed' }],
  candidates: [candidate('alice')],
  source: 'audit',
  verifiedAt: before(0),
  reloads: [reload('mailer', 'Refused'), reload('cart', 'Reloaded'), reload('web', 'Reloaded')],
  pending: [],
};
const waits = (name: string): ChangeRow => ({ ...row, pending: [{ cluster: 'local', workload: workload(name), hold: { reason: 'Refused', since: before(0) } }] });

const cluster = (name: string, health: string, more: Partial<Cluster> = {}) => ({ name, health, ...more }) as Cluster;
const held = (state: string, needsAttention: boolean) => ({ verdict: { state, message: '', needsAttention } }) as Workload;
const remarks = (...of: Parameters<typeof remarksOf>) => remarksOf(...of).map((r) => r.text + (r.tone === 'bad' ? '!' : ''));

const graph: Graph = {
  nodes: ['a', 'b'].flatMap((name) => [
    { id: `c-${name}`, type: 'config' as const, cluster: 'local', kind: 'ConfigMap', namespace: `ns-${name}`, name },
    { id: `w-${name}`, type: 'workload' as const, cluster: 'local', kind: 'Deployment', namespace: `ns-${name}`, name: `${name}-app` },
  ]),
  edges: ['a', 'b'].map((name) => ({ config: `c-${name}`, workload: `w-${name}`, pending: false })),
  warnings: [],
};
const ids = (g: Graph) => g.nodes.map((n) => n.id).join(' ');
const crossed = ['a z', 'b y', 'c x', 'c z'].map((e) => ({ from: e[0]!, to: e[2]! }));

const cases: Record<string, [unknown, unknown]> = {
  'a moment ago': [relative(before(3), now), 'now'],
  'minutes are whole': [relative(before(119), now), '1 min ago'],
  days: [relative(before(200_000), now), '2 d ago'],
  'what is to come': [relative(before(-90), now), 'in 1 min'],
  'no time at all': [relative('', now), '–'],
  milliseconds: [duration(0.0614), '61 ms'],
  'no 60 seconds': [[59.4, 59.7, 119.7, 3599.7].map(duration), ['59 s', '1 min 0 s', '2 min 0 s', '1 h 0 min']],
  'a service account is namespace/name': [personName('system:serviceaccount:flux-system:kustomize'), 'flux-system/kustomize'],
  'one candidate is named': [who(row), { name: 'alice', note: 'with kubectl' }],
  'of two none is asserted': [who({ candidates: [candidate('alice'), candidate('bob')], source: 'audit' }).name, 'one of alice, bob'],
  'nobody is not made up': [who({ candidates: [], source: 'sweep' }), { name: '', note: 'found by the resync' }],
  'keys with their signs': [
    keysText(
      ['Added', 'Removed', 'Renamed', 'Changed'].map((op) => ({ key: op[0]!, op })),
      3,
    ),
    '+A −R R and 1 more',
  ],
  'what a newer server says of a config': [verbOf({ type: 'MovedAway' }), 'moved away'],
  'a reason in words': [wordsOf('PausedByOperator'), 'Paused by operator'],
  'up to date is good': [toneOf('UpToDate'), 'good'],
  'a reason of a newer server is calm': [toneOf('SomethingNew'), 'calm'],
  'a rollout says more than its reload': [stateOf({ outcome: 'Reloaded', rollout: { result: 'Stalled', startedAt: '' } }), 'Stalled'],
  'the worst is told first': [
    partsOf(row),
    [
      { state: 'Refused', count: 1 },
      { state: 'Reloaded', count: 2 },
    ],
  ],
  'one that was given up and still waits counts once': [partsOf(waits('mailer')), partsOf(row)],
  'another that waits counts beside it': [partsOf(waits('other'))[0], { state: 'Refused', count: 2 }],
  'what a newer change superseded': [[...supersededIn([row, { ...row, id: 'c-0', reloads: [] }])], ['localc-0']],
  'nothing is superseded by what nobody asked for': [
    supersededIn([
      { ...row, id: 'c-2', reloads: [] },
      { ...row, id: 'c-0', reloads: [] },
    ]).size,
    0,
  ],

  'words anywhere in a row': [hasWords(['shop/cart', undefined, 'Held'], 'HELD cart'), true],
  'filter: who': [matches(row, 'ALICE', ''), true],
  'filter: what and which': [matches(row, 'shop/smtp mailer password', ''), true],
  'filter: one word that is not there': [matches(row, 'alice nothing', ''), false],
  'filter: what failed': [matches(row, '', 'bad'), true],
  'filter: what waits': [matches(row, '', 'wait'), false],
  'filter: without a workload': [
    [matches(row, '', 'none'), matches({ ...row, reloads: [] }, '', 'none')],
    [false, true],
  ],

  'what needs attention is what the server says does': [attentionOf([cluster('a', 'Unknown')], [held('MissingConfig', true), held('Frozen', false)]).workloads.length, 1],
  'a fleet in trouble': [
    remarks([cluster('a', 'Healthy'), cluster('b', 'Degraded'), cluster('s', 'Healthy', { freeze: { until: '2026-11-23T13:00:00Z' } })], [held('Failed', true), held('Held', false)], now),
    ['3 clusters, 1 degraded!', '1 workload needs attention!', '1 waiting', 's frozen, ends in 2 d'],
  ],
  'all is well': [remarks([cluster('local', 'Healthy')], [], now), ['1 cluster', 'no workload needs attention']],
  'clusters may not be seen': [remarks(undefined, [held('Failed', true), held('Stalled', true)], now), ['2 workloads need attention!']],
  'nothing is known yet': [remarks(undefined, undefined, now), []],
  'the worst cluster first': [
    worstFirst([cluster('b', 'Healthy'), cluster('a', 'Healthy'), cluster('c', 'Healthy', { held: { Frozen: 2 } }), cluster('z', 'Away'), cluster('d', 'Degraded')])
      .map((c) => c.name)
      .join(' '),
    'z d c a b',
  ],

  'what can be drawn without crossings is': [arrange(crossed), { left: ['b', 'a', 'c'], right: ['y', 'z', 'x'] }],
  'the order does not depend on that of the edges': [arrange([...crossed].reverse()), arrange(crossed)],
  'nodes of the shorter side are near their neighbours': [
    level(
      ['x', 'y', 'z'],
      ['a', 'b', 'c', 'd', 'e'],
      ['xa', 'xb', 'ye', 'ze'].map((l) => [...l]),
      5,
    ),
    [0.5, 3, 4],
  ],
  'a narrowed graph keeps both ends of its edges': [
    [narrowGraph(graph, '', 'ns-a', ''), narrowGraph(graph, '', '', 'a-app'), narrowGraph(graph, '', '', 'ns-a/a')].map(ids),
    ['c-a w-a', 'c-a w-a', 'c-a w-a'],
  ],
  'a cut graph says how much is missing': [
    [ids(cut(graph, 1).graph), cut(graph, 1).left],
    ['c-a w-a', 1],
  ],
  'round marks on an axis': [
    [ticks(18, true), ticks(1, true), ticks(1.6, false)],
    [
      [0, 5, 10, 15, 20],
      [0, 1, 2],
      [0, 0.5, 1, 1.5, 2],
    ],
  ],
};

for (const [name, [got, want]] of Object.entries(cases)) test(name, () => assert.deepEqual(got, want));
