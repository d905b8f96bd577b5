import assert from 'node:assert/strict';
import test from 'node:test';
import { overviewOf } from './overview';
import type { Cluster, Workload } from './types';

const now = Date.parse('2026-11-21T12:00:00Z');
const cluster = (name: string, health: string, freeze: object = { frozen: false }) => ({ name, health, freeze }) as Cluster;
const held = (attention: boolean) => ({ verdict: { state: attention ? 'Failed' : 'Frozen', message: '', needsAttention: attention, waits: !attention } }) as Workload;
const texts = (...of: Parameters<typeof overviewOf>) => overviewOf(...of).map((r) => r.text + (r.bad ? '!' : ''));

const cases: [string, string[], string[]][] = [
  [
    'a fleet in trouble',
    texts([cluster('a', 'Healthy'), cluster('b', 'Degraded'), cluster('staging', 'Healthy', { frozen: true, until: '2026-11-23T13:00:00Z' })], [held(true), held(false), held(false)], now),
    ['3 clusters, 1 degraded!', '2 waiting, 1 needs attention!', 'staging frozen, ends in 2 d'],
  ],
  ['two that are away', texts([cluster('a', 'Away'), cluster('b', 'Degraded'), cluster('c', 'Away')], undefined, now), ['3 clusters, 2 away, 1 degraded!']],
  ['all is well', texts([cluster('local', 'Healthy')], [], now), ['1 cluster', 'nothing waits']],
  ['a freeze whose begin is known', texts([cluster('staging', 'Healthy', { frozen: true, since: '2026-11-19T11:00:00Z' })], undefined, now), ['1 cluster', 'staging frozen for 2 d']],
  ['a freeze without an end', texts([cluster('local', 'Unknown', { frozen: true })], [held(false)], now), ['1 cluster', '1 waiting', 'local frozen']],
  ['clusters may not be seen', texts(undefined, [held(true), held(true)], now), ['2 need attention!']],
  ['nothing is known yet', texts(undefined, undefined, now), []],
];

for (const [name, got, want] of cases) {
  test(`overview: ${name}`, () => assert.deepEqual(got, want));
}
