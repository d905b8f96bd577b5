import type { ServerEvent } from './sse';
import type { Cluster, Workload, WorkloadRef } from './types';

// Listing is a list that was read whole, or up to a bound.
export interface Listing<T> {
  items: T[];
  warnings: string[];
  complete: boolean;
}

interface Placed {
  cluster: string;
  workload: WorkloadRef;
}

// keyOf orders workloads as the server does.
export const keyOf = ({ cluster, workload: w }: Placed): string => [w.namespace, w.name, w.kind, cluster].join('\u0000');

// put returns a list with one item added or replaced. What would come behind the end of an incomplete list is left out.
export function put<T>(list: Listing<T>, item: T, key: (item: T) => string): Listing<T> {
  const own = key(item);
  const at = list.items.findIndex((other) => key(other) >= own);
  if (at < 0) return list.complete ? { ...list, items: [...list.items, item] } : list;
  const same = key(list.items[at]!) === own;
  return { ...list, items: [...list.items.slice(0, at), item, ...list.items.slice(same ? at + 1 : at)] };
}

// drop returns a list without the item of a key: the list itself if it has none.
export function drop<T>(list: Listing<T>, own: string, key: (item: T) => string): Listing<T> {
  const items = list.items.filter((item) => key(item) !== own);
  return items.length === list.items.length ? list : { ...list, items };
}

// mergeWorkload merges an event into a listing of workloads.
export function mergeWorkload(list: Listing<Workload>, event: ServerEvent): Listing<Workload> {
  const told = JSON.parse(event.data) as Workload;
  return event.type === 'workloadGone' ? drop(list, keyOf(told), keyOf) : put(list, told, keyOf);
}

// isUnsettled tells whether a workload waits or needs attention, as the server judges.
export const isUnsettled = ({ verdict }: Workload): boolean => verdict.needsAttention === true || verdict.waits === true;

// mergeUnsettled merges an event into a listing of the workloads that wait or need attention.
export function mergeUnsettled(list: Listing<Workload>, event: ServerEvent): Listing<Workload> {
  const told = JSON.parse(event.data) as Workload;
  return event.type === 'workloadGone' || !isUnsettled(told) ? drop(list, keyOf(told), keyOf) : put(list, told, keyOf);
}

// mergeCluster merges an event into a listing of clusters.
export const mergeCluster = (list: Listing<Cluster>, event: ServerEvent): Listing<Cluster> => put(list, JSON.parse(event.data) as Cluster, (c) => c.name);

// concernsWorkload tells whether an event is about one workload.
export function concernsWorkload({ cluster, namespace, kind, name }: { cluster: string; namespace: string; kind: string; name: string }) {
  return (event: ServerEvent): boolean => {
    const told = JSON.parse(event.data) as Placed;
    return keyOf(told) === keyOf({ cluster, workload: { namespace, kind, name } });
  };
}
