import assert from 'node:assert/strict';
import test from 'node:test';
import { cut, narrowGraph, type Graph } from './graph';
import { arrange, crossings, level } from './layers';

const crossed = [
  { from: 'a', to: 'z' },
  { from: 'b', to: 'y' },
  { from: 'c', to: 'x' },
  { from: 'c', to: 'z' },
];

test('what can be drawn without crossings is', () => {
  const alphabetical = { left: ['a', 'b', 'c'], right: ['x', 'y', 'z'] };
  assert.equal(crossings(crossed, alphabetical), 3);
  assert.equal(crossings(crossed, arrange(crossed)), 0);
});

test('the order does not depend on the order of the edges', () => {
  assert.deepEqual(arrange(crossed), arrange([...crossed].reverse()));
});

test('nodes of the shorter side are near their neighbours, in order, and inside', () => {
  const links = [
    ['x', 'a'],
    ['x', 'b'],
    ['y', 'e'],
    ['z', 'e'],
  ];
  const at = level(['x', 'y', 'z'], ['a', 'b', 'c', 'd', 'e'], links, 5);
  assert.deepEqual(at, [0.5, 3, 4]);
});

const graph: Graph = {
  nodes: ['a', 'b'].flatMap((name) => [
    { id: `c-${name}`, type: 'config' as const, cluster: 'local', kind: 'ConfigMap', namespace: `ns-${name}`, name },
    { id: `w-${name}`, type: 'workload' as const, cluster: 'local', kind: 'Deployment', namespace: `ns-${name}`, name: `${name}-app` },
  ]),
  edges: ['a', 'b'].map((name) => ({ config: `c-${name}`, workload: `w-${name}`, why: 'Auto', keys: [], pending: false })),
  warnings: [],
};

test('a narrowed graph keeps both ends of its edges', () => {
  for (const narrowed of [narrowGraph(graph, '', 'ns-a', ''), narrowGraph(graph, '', '', 'a-app'), narrowGraph(graph, '', '', 'ns-a/a')]) {
    assert.deepEqual(
      narrowed.nodes.map((n) => n.id),
      ['c-a', 'w-a'],
    );
    assert.equal(narrowed.edges.length, 1);
  }
});

test('a cut graph says how much is missing', () => {
  const { graph: drawn, left } = cut(graph, 1);
  assert.equal(left, 1);
  assert.deepEqual(
    drawn.nodes.map((n) => n.id),
    ['c-a', 'w-a'],
  );
});
