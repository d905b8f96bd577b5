import type { IconName } from '../parts/glyph';

// views are those of the navigation, each with the letter that goes there after g.
export const views: readonly { path: string; name: string; icon: IconName; key: string }[] = [
  { path: '', name: 'Timeline', icon: 'timeline', key: 't' },
  { path: 'workloads', name: 'Workloads', icon: 'workloads', key: 'w' },
  { path: 'impact', name: 'Impact', icon: 'impact', key: 'i' },
  { path: 'held', name: 'Held', icon: 'held', key: 'h' },
  { path: 'clusters', name: 'Clusters', icon: 'clusters', key: 'c' },
  { path: 'charts', name: 'Charts', icon: 'charts', key: 's' },
];
