import { computed, type Signal, signal } from '@preact/signals';
import { type Listing, mergeCluster, mergeUnsettled } from '../lib/listing';
import type { Cluster, Workload } from '../lib/types';
import { askAll, session } from './client';
import { onChange, Question, type Resource, type Timing } from './resource';
import { scope } from './router';

const mostClusters = 500;
const mostHeld = 2_000;

// clusters and held are asked for once for the whole page: the navigation and several views show them.
export const clusters = signal<Resource<Listing<Cluster>>>({ loading: true });
export const held = signal<Resource<Listing<Workload>>>({ loading: true });

// several tells whether there is more than one cluster, as far as that is known.
const several = computed(() => {
  const { data } = clusters.value;
  return data && data.items.length > 0 ? data.items.length > 1 : undefined;
});

// showsCluster tells whether the name of a cluster says something: there are others, or it was given.
export const showsCluster = (name: string): boolean => several.value ?? name !== 'local';

function follow<T>(into: Signal<Resource<T>>, question: Question<T>): () => void {
  const end = question.start();
  const stop = question.state.subscribe((state) => {
    into.value = state;
  });
  return () => {
    stop();
    end();
  };
}

// clusterTiming has clusters asked for again by the clock, too: one whose dispatcher is away tells nothing of itself.
export const clusterTiming: Timing<Listing<Cluster>> = { events: ['cluster'], merge: mergeCluster, every: 30_000 };

export const askClusters = (abort: AbortSignal): Promise<Listing<Cluster>> => askAll<Cluster>('clusters', {}, mostClusters, abort);

const askHeld = (namespace: string, abort: AbortSignal): Promise<Listing<Workload>> => askAll<Workload>('workloads', { namespace, unsettled: 'true' }, mostHeld, abort);

let ends: (() => void)[] = [];

// ask asks again, as for another user or another namespace. A page that shows one namespace alone asks for no clusters, which are in none.
export function ask(): void {
  ends.forEach((end) => end());
  const namespace = scope.peek();
  clusters.value = { loading: true };
  ends = [
    ...(namespace ? [] : [follow(clusters, new Question(askClusters, clusterTiming))]),
    follow(held, new Question((abort) => askHeld(namespace, abort), { events: ['workload', 'workloadGone'], merge: mergeUnsettled, every: 120_000 })),
  ];
}

export function start(): void {
  ask();
  onChange(() => [session.value, scope.value], ask);
}
