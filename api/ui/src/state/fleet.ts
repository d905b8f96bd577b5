import { computed, effect, type Signal, signal, untracked } from '@preact/signals';
import type { Cluster, Self, Workload } from '../lib/types';
import { ask, askAll, type Listing, session } from './api';
import type { Topic } from './live';
import { Question, type Resource } from './resource';
import { scope } from './router';

const mostClusters = 5_000;
const mostUnsettled = 2_000;

// What is asked for once for the whole page: the navigation and several views show it.
export const clusters = signal<Resource<Listing<Cluster>>>({});
// unsettled are the workloads that wait or need attention, as reroll status has them.
export const unsettled = signal<Resource<Listing<Workload>>>({});
export const self = signal<Resource<Self>>({});

// several tells whether there is more than one cluster, as far as that is known.
const several = computed(() => {
  const { data } = clusters.value;
  return data && data.items.length > 0 ? data.items.length > 1 : undefined;
});

// showsCluster tells whether the name of a cluster says something: there are others, or it was given.
export const showsCluster = (name: string): boolean => several.value ?? name !== 'local';

function follow<T>(into: Signal<Resource<T>>, topics: Topic[], read: (abort: AbortSignal) => Promise<T>, least?: number): () => void {
  into.value = {};
  const question = new Question(read, topics, least);
  const ends = [question.start(), question.state.subscribe((state) => (into.value = state))];
  return () => ends.forEach((end) => end());
}

// start asks, and asks anew for another user or another namespace. Clusters are in no namespace.
export function start(): void {
  effect(() => {
    void session.value;
    const namespace = scope.value;
    return untracked(() => {
      const ends = [
        follow(clusters, ['clusters'], (abort) => askAll<Cluster>('clusters', {}, mostClusters, abort), 5_000),
        follow(unsettled, ['workloads', 'clusters'], (abort) => askAll<Workload>('workloads', { namespace, unsettled: 'true' }, mostUnsettled, abort), 2_000),
        follow(self, [], (abort) => ask<Self>('self', abort)),
      ];
      return () => ends.forEach((end) => end());
    });
  });
}
