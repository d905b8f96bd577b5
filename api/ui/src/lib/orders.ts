import { segments } from './format';
import type { Config, Pause, WorkloadRef } from './types';

// Verb is what somebody may have done, as the API names it.
export type Verb = 'reload' | 'retry' | 'pause' | 'resume' | 'freeze' | 'thaw';

// Field is what an order lets its giver say.
export type Field = 'reason' | 'namespace' | 'selector' | 'until' | 'untilOrEver';

// Answers are what somebody has filled in. until is how many seconds it lasts; empty if it does not end by itself.
export interface Answers {
  reason: string;
  namespace: string;
  selector: string;
  until: string;
}

// Order is something that a cluster's dispatcher can be told to do.
export interface Order {
  verb: Verb;
  // path is that of the API below /api/v1/.
  path: string;
  // label is on the button that asks for it, title over what asks whether it is meant, and what says what will happen.
  label: string;
  title: string;
  what: string;
  // about names what it is done to; doing and done say that it is being done and that it was.
  about: string;
  doing: string;
  done: string;
  fields: Field[];
  body: (answers: Answers, now: number) => Record<string, string> | undefined;
}

export const lasting: readonly (readonly [string, string])[] = [
  ['1800', '30 minutes'],
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['86400', '1 day'],
  ['604800', '7 days'],
];

const filled = (fields: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter((f): f is [string, string] => f[1] !== undefined && f[1] !== ''));

const why = ({ reason }: Answers) => filled({ reason: reason.trim() });

// untilOf is the time at which something ends that lasts so many seconds; nothing if it does not end by itself.
export const untilOf = (seconds: string, now: number): string | undefined => (seconds === '' ? undefined : new Date(Math.ceil(now / 1000) * 1000 + Number(seconds) * 1000).toISOString());

export function reloadOf(cluster: string, w: WorkloadRef): Order {
  return {
    verb: 'reload',
    path: segments('workloads', cluster, w.namespace, w.kind, w.name, 'reload'),
    label: 'Reload now',
    title: `Reload ${w.name} now?`,
    what: `${w.kind} ${w.namespace}/${w.name} in ${cluster} gets new pods, as after a change. Windows and limits on rates do not hold it back; a freeze or a pause does.`,
    about: w.name,
    doing: 'Reloading…',
    done: `${w.name} was reloaded.`,
    fields: ['reason'],
    body: why,
  };
}

export function retryOf(cluster: string, w: WorkloadRef): Order {
  return {
    verb: 'retry',
    path: segments('workloads', cluster, w.namespace, w.kind, w.name, 'retry'),
    label: 'Try again',
    title: `Try ${w.name} again?`,
    what: `The roll of ${w.kind} ${w.namespace}/${w.name} in ${cluster} is tried once more, at once. If it fails again, it is held back again.`,
    about: w.name,
    doing: 'Asking…',
    done: `${w.name} is tried again.`,
    fields: [],
    body: () => undefined,
  };
}

export function goOnWith(cluster: string, c: Config): Order {
  return {
    verb: 'retry',
    path: segments('configs', cluster, c.namespace, c.kind, c.name, 'retry'),
    label: `Go on with ${c.name}`,
    title: `Go on with the change of ${c.name}?`,
    what: `The change of ${c.kind} ${c.namespace}/${c.name} in ${cluster} did not roll out on a workload and was halted. It is brought to the workloads again, from the first step on.`,
    about: c.name,
    doing: 'Asking…',
    done: `The change of ${c.name} goes on.`,
    fields: [],
    body: () => undefined,
  };
}

// pauseOf pauses workloads of one namespace, or, if none is given, of the namespace that is filled in, or of all.
export function pauseOf(cluster: string, namespace = ''): Order {
  return {
    verb: 'pause',
    path: segments('clusters', cluster, 'pause'),
    label: namespace ? `Pause ${namespace}…` : 'Pause…',
    title: `Pause reloads in ${namespace || cluster}?`,
    what: 'Changes are still recorded. The workloads wait until the pause ends or somebody ends it, and are then rolled once.',
    about: namespace || cluster,
    doing: 'Pausing…',
    done: `Reloads in ${namespace || cluster} are paused.`,
    fields: namespace ? ['until', 'selector', 'reason'] : ['until', 'namespace', 'selector', 'reason'],
    body: (a, now) => filled({ namespace: namespace || a.namespace.trim(), selector: a.selector.trim(), until: untilOf(a.until, now), ...why(a) }),
  };
}

export function resumeOf(cluster: string, p: Pause): Order {
  const where = p.namespace ? `namespace ${p.namespace}` : 'every namespace';
  return {
    verb: 'resume',
    path: segments('clusters', cluster, 'resume'),
    label: 'Resume',
    title: `End this pause in ${cluster}?`,
    what: `What waits in ${where}${p.selector ? ` with ${p.selector}` : ''} is rolled as soon as nothing else holds it back.`,
    about: cluster,
    doing: 'Resuming…',
    done: `The pause of ${where} has ended.`,
    fields: [],
    body: () => filled({ namespace: p.namespace, selector: p.selector }),
  };
}

export function freezeOf(cluster: string): Order {
  return {
    verb: 'freeze',
    path: segments('clusters', cluster, 'freeze'),
    label: 'Freeze…',
    title: `Freeze all reloads of ${cluster}?`,
    what: 'No workload of the cluster is rolled until it is thawed. Changes are still recorded, and each workload is rolled once afterwards.',
    about: cluster,
    doing: 'Freezing…',
    done: `All reloads of ${cluster} are frozen.`,
    fields: ['untilOrEver', 'reason'],
    body: (a, now) => filled({ until: untilOf(a.until, now), ...why(a) }),
  };
}

export function thawOf(cluster: string): Order {
  return {
    verb: 'thaw',
    path: segments('clusters', cluster, 'thaw'),
    label: 'Thaw',
    title: `Thaw the reloads of ${cluster}?`,
    what: 'What has changed meanwhile is rolled as soon as nothing else holds it back: that may be many workloads at once.',
    about: cluster,
    doing: 'Thawing…',
    done: `The reloads of ${cluster} are thawed.`,
    fields: [],
    body: () => undefined,
  };
}

// doneText says what came of an order. outcome is that of the reload that it led to, if one did, and meaning is that in words.
export const doneText = (order: Order, outcome: string | undefined, meaning: string): string =>
  order.verb === 'reload' && outcome !== undefined && outcome !== 'Reloaded' ? `${order.about} ${meaning}.` : order.done;
