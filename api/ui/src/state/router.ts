import { computed, signal } from '@preact/signals';

// Route is what the part of the address behind # says: a path and its parameters. It survives a reload and can be sent to others.
export interface Route {
  path: string[];
  query: URLSearchParams;
}

export const route = signal<Route>(read());

function read(): Route {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(search) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

addEventListener('hashchange', () => {
  route.value = read();
});

// scope is the one namespace that the server is asked about; empty if it is asked about all. It goes along with every address.
export const scope = computed(() => route.value.query.get('in') ?? '');

export type Parameters = Record<string, string | undefined>;

// href is the address of a view.
export function href(path: string[], parameters: Parameters = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries({ in: scope.value, ...parameters })) if (value) q.set(name, value);
  return `#/${path.map(encodeURIComponent).join('/')}${q.size ? `?${q}` : ''}`;
}

// amend changes parameters of the view that is shown. It replaces the entry in the history: typing is no journey.
export function amend(parameters: Parameters): void {
  const merged: Parameters = { ...Object.fromEntries(route.value.query), ...parameters };
  history.replaceState(null, '', href(route.value.path, merged));
  route.value = read();
}

export interface Place {
  cluster: string;
  kind: string;
  namespace: string;
  name: string;
}

export const workloadHref = (cluster: string, w: Omit<Place, 'cluster'>): string => href(['workloads', cluster, w.namespace, w.kind, w.name]);
export const impactHref = (cluster: string, c: Omit<Place, 'cluster'>): string => href(['impact', cluster, c.namespace, c.kind, c.name]);
export const changeHref = (id: string, cluster: string): string => href([], { open: id, of: cluster });

// placeOf reads cluster, namespace, kind and name out of the path of a workload or a config.
export function placeOf(path: string[]): Place | undefined {
  const [, cluster, namespace, kind, name] = path;
  return cluster && namespace && kind && name ? { cluster, namespace, kind, name } : undefined;
}
